import type { Config } from '../../config/env.ts'
import { catalogue } from '../../config/streams.ts'
import { DAY } from '../base/time/units.ts'
import { createLedger } from '../pipeline/warehouse/ledger/coverage-ledger.ts'
import type { Pool } from '../pipeline/warehouse/postgres/warehouse-pool.ts'
import { createProfiles } from '../pipeline/warehouse/profiles/stored-profiles.ts'
import { createReports } from '../pipeline/warehouse/reports/status-report.ts'
import { createRuns } from '../pipeline/warehouse/runs/stored-runs.ts'
import { selectedStreams } from './select-profiles.ts'

type PlanOptions = {
  /** Undefined: all. */
  readonly profileIds: readonly string[] | undefined
  readonly streams: readonly string[]
  /** Absent: the plan of a sync; given: the plan of a back-fill from here. */
  readonly from?: Date | undefined
  readonly to?: Date | undefined
  readonly again?: boolean
}

type PlanContext = { readonly config: Config; readonly signal: AbortSignal }

type StreamTally = { stream: string; windows: number; covered: number }

const PROFILES_PER_PAGE = 500

export type Plan = Awaited<ReturnType<typeof makePlan>>

/** The windows and requests that a sync, or a back-fill of the range, would take. */
export async function makePlan(pool: Pool, context: PlanContext, options: PlanOptions) {
  const { config } = context
  const { profiles, tallies } = await countWindows(pool, options, context)
  const windows = tallies.reduce((sum, tally) => sum + tally.windows, 0)
  const covered = tallies.reduce((sum, tally) => sum + tally.covered, 0)
  const outbox = await createReports({ pool }).countWaiting()
  const { requestsPerSecond } = config.budget
  const measuredPerSecond = (await createRuns({ pool }).measuredRequestRate()) ?? null
  return {
    profiles,
    fromAt: options.from ?? null,
    toAt: options.to ?? null,
    windows,
    covered,
    requests: windows,
    itemsWaiting: options.from ? 0 : outbox.reduce((sum, { waiting }) => sum + waiting, 0),
    requestsPerSecond,
    seconds: windows / requestsPerSecond,
    measuredPerSecond,
    expectedSeconds: windows / Math.min(requestsPerSecond, measuredPerSecond ?? requestsPerSecond),
    streams: tallies,
  }
}

async function countWindows(
  pool: Pool,
  options: PlanOptions,
  { config, signal }: PlanContext,
): Promise<{ profiles: number; tallies: StreamTally[] }> {
  const wanted = selectedStreams(catalogue.pulled, options.streams)
  const tallies = new Map<string, StreamTally>(
    wanted.map(({ name }) => [name, { stream: name, windows: 0, covered: 0 }]),
  )
  const ledger = createLedger({
    pool,
    catalogue: { ...catalogue, pulled: wanted },
    firstReadingMs: config.settle.intervalsMs[0] ?? 0,
  })
  const profiles = createProfiles({ pool, catalogue, tokenKeys: [] })
  const { nowMs, range } = rangeOf(options)
  let count = 0
  for (let afterId = '0'; ; ) {
    signal.throwIfAborted()
    const page = await profiles.list(afterId, PROFILES_PER_PAGE, options.profileIds)
    const countProfile = async (profileId: string) => {
      const [due, all] = await Promise.all([
        ledger.plan({ profileId, nowMs, range, again: options.again }),
        ledger.plan({ profileId, nowMs, range, again: true }),
      ])
      addToTallies(tallies, due?.due ?? [], all?.due ?? [])
    }
    await Promise.all(page.ids.map(countProfile))
    count += page.ids.length
    afterId = page.lastId
    if (page.ids.length < PROFILES_PER_PAGE) break
  }
  const counted = [...tallies.values()].map((tally) => ({ ...tally, covered: Math.max(0, tally.covered) }))
  return { profiles: count, tallies: counted }
}

function rangeOf({ from, to }: PlanOptions) {
  const nowMs = Date.now()
  const endMs = Math.min(to?.getTime() ?? Math.ceil(nowMs / DAY) * DAY, nowMs)
  return { nowMs, range: from ? { startMs: from.getTime(), endMs } : undefined }
}

type DueWindows = ReadonlyArray<{ readonly stream: { readonly name: string } }>

/** `all` holds the due windows and the covered windows. */
function addToTallies(tallies: ReadonlyMap<string, StreamTally>, due: DueWindows, all: DueWindows): void {
  const countOf = (windows: DueWindows, name: string) => windows.filter(({ stream }) => stream.name === name).length
  for (const tally of tallies.values()) {
    const dueCount = countOf(due, tally.stream)
    tally.windows += dueCount
    tally.covered += countOf(all, tally.stream) - dueCount
  }
}
