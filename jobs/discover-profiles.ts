import { z } from 'zod'
import { HOUR } from '../src/base/time/units.ts'
import { type JobCounts, noCounts } from '../src/pipeline/transfer/order.ts'
import { defineJob } from '../src/pipeline/work/job.ts'

/**
 * Adds every profile that upstream knows and the warehouse does not, page by page.
 *
 * Safe to run twice: a profile that was added before is not changed, and an erased profile stays erased.
 */
export const discoverProfiles = defineJob({
  name: 'discover-profiles',
  payload: z.object({ search: z.string().optional() }),
  attemptsMax: 6,
  timeoutMs: HOUR,

  async run({ search }, context) {
    let counts: JobCounts = noCounts
    const wantedFrom = new Date(context.now() - context.settings.historyMs)
    const pages = context.upstream.searchProfiles(
      { pageSize: 100, ...(search === undefined ? {} : { searchParameter: search }) },
      { lane: context.lane, signal: context.signal },
    )
    for await (const page of pages) {
      const externalIds = page.map((profile) => profile.externalId)
      const { added } = await context.profiles.add(externalIds, { wantedFrom, state: 'active' })
      counts = {
        ...counts,
        requests: counts.requests + 1,
        rowsRead: counts.rowsRead + page.length,
        rowsWritten: counts.rowsWritten + added,
      }
    }
    return counts
  },
})
