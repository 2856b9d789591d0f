import { z } from 'zod'
import { type Counts, defineJob, nothing } from '../src/job.ts'
import { HOUR } from '../src/window.ts'

/**
 * Takes in everybody whom upstream knows and we do not, page by page.
 *
 * Safe to run twice: the known are left alone, and the erased stay erased.
 */
export const discoverProfiles = defineJob({
  name: 'discover-profiles',
  payload: z.object({ search: z.string().optional() }),
  attemptsMax: 6,
  timeoutMs: HOUR,

  async run({ search }, context) {
    let counts: Counts = nothing
    const wantedFrom = new Date(context.now() - context.settings.historyMs)
    const pages = context.upstream.search(
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
