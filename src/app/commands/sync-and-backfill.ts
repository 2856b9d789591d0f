import type { BackfillParams } from '../../../jobs/backfill.ts'
import { externalIdSchema } from '../../base/contract/authentication.ts'
import { UsageProblem } from '../../base/errors.ts'
import { DAY } from '../../base/time/units.ts'
import { readExternalIds } from '../../intake/input-file.ts'
import { profileIdsOf, type Selection, tellIfNobody } from '../../operations/select-profiles.ts'
import { JOB_FORM, paramsText } from '../../pipeline/transfer/order.ts'
import type { Run } from '../../pipeline/warehouse/runs/stored-runs.ts'
import { completeRun, printRunSummary, untilSandboxDerived } from '../complete-run.ts'
import { type CommandContext, exitCodes } from '../terminal/command-context.ts'
import { type OpenPipeline, withPipeline } from '../with-pipeline.ts'
import { runPlan } from './questions/plan.ts'

type BackfillOptions = Selection & {
  readonly from: Date
  /** Absent: the end of today. */
  readonly to?: Date
  /** A file that names further profiles to read. */
  readonly profilesFrom?: string
  readonly again: boolean
  readonly dryRun: boolean
}

/** Starts the same work as the nightly run now, and follows it to its end. */
export async function runSync(context: CommandContext, selection: Selection): Promise<number> {
  const run = await withPipeline(context, async (opened) => {
    const params = await chosenOf(context, opened, selection)
    return completeRun(context, opened, await opened.pipeline.runs.create('sync', params))
  })
  return printRunSummary('sync', context.terminal, run)
}

/** Reads a range of the past, newest windows first; covered windows are not read again. Stopped anywhere, the same command resumes. */
export async function runBackfill(context: CommandContext, options: BackfillOptions): Promise<number> {
  const { terminal } = context
  const profile = [...options.profile, ...(await externalIdsOfFile(options.profilesFrom))]
  if (options.dryRun) {
    await runPlan(context, { ...options, profile })
    return exitCodes.done
  }
  const run = await withPipeline(context, async (opened) => {
    const params = rangeOf(opened, options, await chosenOf(context, opened, { ...options, profile }))
    const open = await findUnfinishedRun(opened, params)
    if (open) terminal.say(`carrying on with run ${open.id}, begun ${open.startedAt.toISOString()}`)
    return completeRun(context, opened, open ?? (await opened.pipeline.runs.create('backfill', params)))
  })
  return printRunSummary('backfill', terminal, run)
}

async function externalIdsOfFile(file: string | undefined): Promise<string[]> {
  if (file === undefined) return []
  const onFault = async (line: number, reason: string) => {
    throw new UsageProblem(`read profiles: line ${line}: ${reason}`, { hint: 'Mend the file; nothing was begun.' })
  }
  const names: string[] = []
  for await (const { externalId } of readExternalIds(file, { format: undefined, schema: externalIdSchema, onFault }))
    names.push(externalId)
  // Without names the back-fill would be of everybody.
  if (names.length === 0)
    throw new UsageProblem(`read profiles: ${file} names nobody`, { hint: 'Give a file with one externalId a line.' })
  return names
}

/** The range ends with today, so that the same command on the same day has the same params and resumes the same run. */
const endOfToday = (nowMs: number) => Math.ceil(nowMs / DAY) * DAY

function rangeOf(
  { pipeline }: OpenPipeline,
  { from, to: end, again }: BackfillOptions,
  chosen: Chosen,
): BackfillParams {
  const to = end?.getTime() ?? endOfToday(pipeline.clock.now())
  if (from.getTime() >= to)
    throw new UsageProblem('back-fill: --from does not lie before --to', { hint: 'Both are UTC: 2026-01-31.' })
  return { from: from.getTime(), to, ...chosen, ...(again ? { again: true } : {}) }
}

type Chosen = Pick<BackfillParams, 'profileIds' | 'streams'>

/** The people and streams of a run, as its params hold them; neither where all are meant. */
async function chosenOf(
  { terminal }: CommandContext,
  { pipeline: { pool }, sandbox, signal }: OpenPipeline,
  { profile, stream }: Selection,
): Promise<Chosen> {
  if (sandbox) await untilSandboxDerived(sandbox, { terminal, signal })
  const profileIds = await profileIdsOf(pool, profile)
  if (!profileIds) await tellIfNobody(pool, terminal)
  return { ...(profileIds ? { profileIds } : {}), ...(stream.length > 0 ? { streams: [...stream] } : {}) }
}

const RUNS_SEARCHED_MAX = 1000

/** The unfinished run of equal params: its open orders are enqueued again, and it continues after its last page. */
async function findUnfinishedRun({ pipeline }: OpenPipeline, params: BackfillParams): Promise<Run | undefined> {
  const text = paramsText(params)
  const recent = await pipeline.runs.listNewest(RUNS_SEARCHED_MAX)
  return recent.find(
    ({ kind, state, form, params: ordered }) =>
      kind === 'backfill' && state === 'running' && form <= JOB_FORM && paramsText(ordered) === text,
  )
}
