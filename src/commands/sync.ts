import { Problem } from '../errors.ts'
import type { Run, RunParams } from '../warehouse/runs.ts'
import type { CommandContext } from './engines.ts'
import { followRun } from './follow.ts'
import { type Chosen, idsOfNamed } from './gaps.ts'
import { type Opened, withPipeline } from './open.ts'
import { duration, many, number, type Terminal } from './terminal.ts'
import { produceRun, settleRun, startWork, type Working } from './work.ts'

/** A nightly now, followed to its end. */
export async function sync(context: CommandContext & Chosen): Promise<number> {
  const run = await withPipeline(context, async (opened) => {
    if (opened.sandbox) await derived(opened, context.terminal)
    const profileIds = await idsOfNamed(opened.pipeline.pool, context.profiles)
    const params = {
      ...(profileIds ? { profileIds } : {}),
      ...(context.streams.length > 0 ? { streams: context.streams } : {}),
    }
    return workOff(context, opened, await opened.pipeline.runs.start('sync', params))
  })
  return closingSummary(context.terminal, run)
}

/** A sandbox of our own derives its people's scores first: a sync before that would find nothing. */
export async function derived({ sandbox, signal }: Opened, terminal: Terminal): Promise<void> {
  terminal.progress('the sandbox derives scores from its people’s logs …')
  const stopped = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => stopped.reject(signal.reason), { once: true })
  await Promise.race([sandbox?.derived(), stopped.promise])
}

/**
 * Sees a run through: enqueues who is due and follows it. Where no worker is running it works the queue itself. Stopped
 * by Ctrl-C it lets the jobs under way finish; what is left waits in the queue and in the ledger.
 */
export async function workOff(context: CommandContext, opened: Opened, run: Run): Promise<Run> {
  const { config, terminal, log } = context
  const { pipeline, closing, fail } = opened
  const workers = await pipeline.engine.queue('manual').getWorkersCount()
  const working = workers > 0 ? undefined : closing.add(startWork({ pipeline, config, log, onSilent: fail }), 'worker')
  terminal.say(
    working ? `run ${run.id}: working` : `run ${run.id}: handed to ${many(workers, 'running worker')}, following`,
  )
  try {
    return await seeThrough(context, opened, { run, working })
  } catch (error) {
    if (!context.signal.aborted) throw error
    return stopped(opened, run, terminal)
  }
}

type Under = { run: Run; working: Working | undefined }

async function seeThrough({ config, terminal }: CommandContext, opened: Opened, { run, working }: Under): Promise<Run> {
  const { pipeline, signal } = opened
  const lane = run.kind === 'backfill' ? 'backfill' : 'manual'
  const halted = () => working?.halted()
  const producing = { pipeline, config, signal }
  const settle = (now: Run) => settleRun(producing, now)
  const followed = followRun({ pipeline, runId: run.id, lane, terminal, signal, settle, halted })
  // Both at once: the bar moves while people are still being enqueued.
  const [, ended] = await Promise.all([produceRun(producing, run), followed])
  return ended
}

async function stopped({ pipeline }: Opened, { id, kind }: Run, terminal: Terminal): Promise<Run> {
  terminal.progressEnd()
  terminal.say('stopping: what is under way is finished …')
  // A back-fill stays open and is carried on by the next one; of a sync the next one finds the rest by itself.
  if (kind !== 'backfill') await pipeline.runs.end(id, 'stopped')
  const run = await pipeline.runs.get(id)
  if (!run) throw new Problem(`stop run ${id}: it is gone`)
  return run
}

/** What was done, in a sentence. 1 when something went wrong or was left undone. */
export function closingSummary(terminal: Terminal, run: Run): number {
  if (terminal.json) terminal.printJson(run)
  else {
    const took = run.endedAt ? ` in ${duration(run.endedAt.getTime() - run.startedAt.getTime())}` : ''
    const head =
      run.state === 'done' ? `${run.kind} done${took}` : terminal.paint('odd', `${run.kind} stopped before its end`)
    terminal.print(
      [
        `${head}: ${many(run.done, 'profile')}, ${many(run.requests, 'request')}, ${many(run.rowsRead, 'row')} read, ${number(run.rowsWritten)} written, ${many(run.itemsPushed, 'item')} pushed`,
        ...(run.failed > 0
          ? [`${terminal.paint('bad', `${many(run.failed, 'profile')} failed`)}: vitalsync failures list`]
          : []),
        ...(run.refused > 0
          ? [
              `${terminal.paint('odd', `${number(run.refused)} windows or records refused`)}: vitalsync failures list, vitalsync quarantine list`,
            ]
          : []),
        ...(run.state === 'done' ? [] : ['The same command carries on.']),
      ].join('\n'),
    )
  }
  return run.state === 'done' && run.failed + run.refused === 0 ? 0 : 1
}

/** Whether a run of these very params is open: stopped by Ctrl-C, a crash or a lost machine. */
export const sameParams = (a: RunParams, b: RunParams): boolean => stable(a) === stable(b)

const stable = (params: RunParams) =>
  JSON.stringify(Object.entries(params).sort(([a], [b]) => (a < b ? -1 : Number(a > b))))
