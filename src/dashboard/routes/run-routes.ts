import { z } from 'zod'
import { UnknownId, UsageProblem } from '../../base/errors.ts'
import { produceRun } from '../../operations/produce-run.ts'
import { countDeriving, readFormerRuns, readUsualSpans } from '../../pipeline/warehouse/reports/run-report.ts'
import { createFailures } from '../../pipeline/warehouse/runs/stored-failures.ts'
import type { Run } from '../../pipeline/warehouse/runs/stored-runs.ts'
import { type DashboardContext, defineAct, defineRead, ownId, shownName, type Visit } from '../dashboard-context.ts'

const RUNS_SHOWN = 200
const FAILURES_LOOKED_AT = 2000
const chosen = z.strictObject({ runId: ownId })

/** `usualMs`: how long the runs of its kind before it took. */
export type RunsAnswer = Array<Omit<Run, 'params'> & { usualMs: number | null }>
export type RunAnswer = Awaited<ReturnType<typeof showRun>>

async function runOf({ pipeline }: DashboardContext, { runId }: z.output<typeof chosen>): Promise<Run> {
  const run = await pipeline.runs.get(runId)
  if (run) return run
  throw new UnknownId('show run: no run has this id', { hint: 'Runs are kept for RUNS_KEPT_DAYS.' })
}

async function requireUnderWay(context: DashboardContext, { runId }: z.output<typeof chosen>): Promise<void> {
  const { state } = await runOf(context, { runId })
  if (state !== 'running') throw new UsageProblem(`stop run: run ${runId} is ${state}`)
}

/** The command that resumes a run: it does not read covered windows again. */
function commandOf(kind: string, params: Run['params']): string {
  if (kind !== 'backfill') return 'vitalsync sync'
  const optionOf = (name: 'from' | 'to') =>
    typeof params[name] === 'number'
      ? ` --${name} ${shortInstant(params[name])}`
      : name === 'from'
        ? ' --from <date>'
        : ''
  const streams = Array.isArray(params['streams']) ? params['streams'].map((stream) => ` --stream ${stream}`) : []
  const people = Array.isArray(params['profileIds']) ? ' --profiles-from <file>' : ''
  return `vitalsync backfill${params['again'] ? ' --again' : ''}${optionOf('from')}${optionOf('to')}${streams.join('')}${people}`
}

/** A date alone where it is a midnight. */
const shortInstant = (ms: number): string => new Date(ms).toISOString().replace(/T00:00:00\.000Z$/, '')

async function showRun(context: DashboardContext, { runId }: z.output<typeof chosen>, visit: Visit) {
  const { pipeline, reading } = context
  const { params, ...run } = await runOf(context, { runId })
  const left = run.state === 'running' ? await pipeline.runs.workLeft({ ...run, params }) : null
  const endMs = run.endedAt?.getTime() ?? Number.POSITIVE_INFINITY
  const failures = await createFailures({ pool: reading }).list({}, FAILURES_LOOKED_AT)
  const during = failures.filter(({ lastAt }) => lastAt >= run.startedAt && lastAt.getTime() <= endMs)
  const people = Array.isArray(params['profileIds']) ? params['profileIds'].length : null
  return {
    ...run,
    people,
    left,
    deriving: run.state === 'running' ? await countDeriving(reading, runId) : 0,
    command: commandOf(run.kind, params),
    former: await readFormerRuns(reading, run),
    failures: during.slice(0, 100).map(({ id, externalId, subject, reason, lastAt }) => {
      const profileId = id.split(':')[1] ?? ''
      return { id, subject, reason, lastAt, profileId, name: shownName(visit, { profileId, externalId }) }
    }),
  }
}

/** A new run of the same kind and settings: what the former one has covered is not read again. */
async function goOn({ pipeline, config, signal, ...context }: DashboardContext, { runId }: z.output<typeof chosen>) {
  const { kind, params } = await runOf({ pipeline, config, signal, ...context }, { runId })
  const run = await pipeline.runs.create(kind === 'backfill' ? 'backfill' : 'sync', kind === 'backfill' ? params : {})
  const { enqueued } = await produceRun({ pipeline, config, signal }, run)
  return { runId: run.id, enqueued }
}

export const runRoutes = [
  defineRead({
    name: 'runs',
    query: z.object({ kind: z.string().max(20).optional() }),
    async answer({ pipeline, reading }, { kind }): Promise<RunsAnswer> {
      const shown = await pipeline.runs.listNewest(RUNS_SHOWN, kind)
      const usual = await readUsualSpans(
        reading,
        shown.map(({ id }) => id),
      )
      return shown.map(({ params, ...run }) => ({ ...run, usualMs: usual.get(run.id) ?? null }))
    },
  }),
  defineRead({ name: 'run', query: chosen, answer: showRun }),
  defineAct({
    name: 'run/stop',
    body: chosen,
    recorded: ({ runId }) => ({ what: { runId } }),
    requireChosen: requireUnderWay,
    act: async ({ pipeline }, { runId }) => pipeline.runs.end(runId, 'stopped'),
  }),
  defineAct({
    name: 'run/go-on',
    body: chosen,
    recorded: ({ runId }) => ({ what: { runId } }),
    requireChosen: runOf,
    act: goOn,
  }),
]
