import { catalogue } from '../../config/streams.ts'
import { type CommandContext, exitCodes } from '../assembly/command-context.ts'
import { profileIdsOf, type Selection, selectedStreams, tellIfNobody } from '../assembly/select-profiles.ts'
import { formatCount, formatDuration, formatNumber, formatTable } from '../assembly/table.ts'
import { withWarehouse } from '../assembly/with-pipeline.ts'
import { DAY, SECOND } from '../time/units.ts'
import { createLedger } from '../warehouse/ledger/coverage-ledger.ts'
import type { Pool } from '../warehouse/postgres/warehouse-pool.ts'
import { createProfiles } from '../warehouse/profiles/stored-profiles.ts'
import { createReports } from '../warehouse/reports/status-report.ts'
import { createRuns } from '../warehouse/runs/stored-runs.ts'

type PlanOptions = Selection & {
  /** Absent: the plan of a sync; given: the plan of a back-fill from here. */
  readonly from?: Date | undefined
  readonly to?: Date | undefined
  readonly again: boolean
}

type StreamTally = { stream: string; windows: number; covered: number }

const PROFILES_PER_PAGE = 500

/** Prints the windows and requests that a sync, or a back-fill of the range, would take, the covered windows, and the duration. */
export async function runPlan(context: CommandContext, options: PlanOptions): Promise<number> {
  const { terminal } = context
  const plan = await withWarehouse(context, async (pool) => {
    await tellIfNobody(pool, terminal)
    return makePlan(pool, context, options)
  })
  if (terminal.json) terminal.printJson('plan', plan)
  else terminal.print(planLines(plan).join('\n'))
  return exitCodes.done
}

type Plan = Awaited<ReturnType<typeof makePlan>>

async function makePlan(pool: Pool, context: CommandContext, options: PlanOptions) {
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

function durationText({ windows, requestsPerSecond, seconds, measuredPerSecond, expectedSeconds }: Plan): string {
  const atBudget = `at least ${formatDuration(seconds * SECOND)} at ${formatNumber(requestsPerSecond)} a second`
  if (measuredPerSecond === null || windows === 0) return `${atBudget}, the budget; no run has been measured yet`
  const rate = measuredPerSecond < 10 ? measuredPerSecond.toFixed(1) : formatNumber(Math.round(measuredPerSecond))
  return `about ${formatDuration(expectedSeconds * SECOND)} at the ${rate} a second of the latest runs, ${atBudget}, the budget`
}

function planLines(plan: Plan): string[] {
  const { profiles, windows, covered, itemsWaiting, streams } = plan
  const share = windows + covered === 0 ? 1 : covered / (windows + covered)
  const rows = streams.map((one) => [one.stream, one.windows, one.covered])
  return [
    formatTable(['stream', 'windows due', 'covered already'], rows),
    '',
    `${formatCount(profiles, 'profile')}, ${formatCount(windows, 'window')}: as many requests, ${durationText(plan)}`,
    `${(share * 100).toFixed(1)} % is covered already and is not asked for again`,
    ...(itemsWaiting > 0 ? [`${formatCount(itemsWaiting, 'item')} to be pushed first`] : []),
  ]
}

async function countWindows(
  pool: Pool,
  options: PlanOptions,
  { config, signal }: CommandContext,
): Promise<{ profiles: number; tallies: StreamTally[] }> {
  const wanted = selectedStreams(catalogue.pulled, options.streams)
  const tallies = new Map<string, StreamTally>(
    wanted.map(({ name }) => [name, { stream: name, windows: 0, covered: 0 }]),
  )
  const ids = await profileIdsOf(pool, options.profiles)
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
    const page = await profiles.list(afterId, PROFILES_PER_PAGE, ids)
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
