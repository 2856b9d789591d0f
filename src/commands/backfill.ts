import { UsageProblem } from '../errors.ts'
import { openReports } from '../warehouse/reports.ts'
import type { Run, RunParams } from '../warehouse/runs.ts'
import { DAY } from '../window.ts'
import type { CommandContext } from './engines.ts'
import { type Chosen, idsOfNamed } from './gaps.ts'
import { externalIdsIn } from './input.ts'
import { type Opened, withPipeline } from './open.ts'
import { plan } from './plan.ts'
import { closingSummary, derived, sameParams, workOff } from './sync.ts'

export type Range = { readonly from: Date; readonly to: Date | undefined }
export type BackfillOptions = CommandContext &
  Chosen &
  Range & {
    readonly profilesFrom: string | undefined
    readonly again: boolean
    readonly dryRun: boolean
  }

/** Reads a range of the past, newest first, without repeating what is covered. Stopped anywhere, the same command goes on. */
export async function backfill(options: BackfillOptions): Promise<number> {
  const { terminal } = options
  const profiles = [...options.profiles, ...(await namedIn(options.profilesFrom))]
  if (options.dryRun) return plan({ ...options, profiles })
  const run = await withPipeline(options, async (opened) => {
    if (opened.sandbox) await derived(opened, terminal)
    const params = await paramsOf(opened, { ...options, profiles })
    const open = await openRun(opened, params)
    if (open) terminal.say(`carrying on with run ${open.id}, begun ${open.startedAt.toISOString()}`)
    return workOff(options, opened, open ?? (await opened.pipeline.runs.start('backfill', params)))
  })
  return closingSummary(terminal, run)
}

async function namedIn(file: string | undefined): Promise<string[]> {
  if (file === undefined) return []
  const onFault = (line: number, reason: string) => {
    throw new UsageProblem(`read profiles: line ${line}: ${reason}`, { hint: 'Mend the file; nothing was begun.' })
  }
  const names: string[] = []
  for await (const name of externalIdsIn(file, { format: undefined, onFault })) names.push(name)
  return names
}

/** Up to the end of today, so that the same command given twice in a day means the same run. */
const endOfToday = (nowMs: number) => Math.ceil(nowMs / DAY) * DAY

async function paramsOf({ pipeline }: Opened, options: BackfillOptions): Promise<RunParams> {
  const profileIds = await idsOfNamed(pipeline.pool, options.profiles)
  const to = options.to?.getTime() ?? endOfToday(pipeline.clock.now())
  if (options.from.getTime() >= to)
    throw new UsageProblem('back-fill: --from does not lie before --to', { hint: 'Both are UTC: 2026-01-31.' })
  return {
    from: options.from.getTime(),
    to,
    ...(options.streams.length > 0 ? { streams: options.streams } : {}),
    ...(profileIds ? { profileIds } : {}),
    ...(options.again ? { again: true } : {}),
  }
}

const RUNS_LOOKED_AT = 1000

/** The unfinished run of these params: what it had ordered is enqueued again, and it goes on where it had come to. */
async function openRun({ pipeline }: Opened, params: RunParams): Promise<Run | undefined> {
  const recent = await openReports(pipeline).runs(RUNS_LOOKED_AT)
  return recent.find((run) => run.kind === 'backfill' && run.state === 'running' && sameParams(run.params, params))
}
