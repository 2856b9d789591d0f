import { streams } from '../../config/streams.ts'
import { discoverProfiles } from '../../jobs/discover-profiles.ts'
import { type Running, writeRunning } from '../engines/running.ts'
import { Problem } from '../errors.ts'
import type { Sandbox } from '../service/sandbox/sandbox.ts'
import type { Run } from '../warehouse/runs.ts'
import { aborted } from './aborted.ts'
import { type Closing, openClosing } from './closing.ts'
import { type CommandContext, type Engines, startEngines } from './engines.ts'
import { followRun } from './follow.ts'
import { migrateWarehouse } from './migrate.ts'
import { type Addresses, openPipeline, type Pipeline } from './pipeline.ts'
import { duration, many, number, type Terminal, table } from './terminal.ts'
import { produceRun, settleRun, startTicks, startWork, type Working } from './work.ts'

export type UpOptions = CommandContext & {
  /** Leaves after the first sync. */
  readonly once: boolean
  readonly profiles: number
}

/**
 * Everything in one process: what is not given by an address is started here. Syncs at once, then works by schedule
 * until told to stop. Returns the exit code.
 */
export async function up(given: UpOptions): Promise<number> {
  // Between lines for people, lines for machines are noise: only trouble is logged, unless LOG_LEVEL says otherwise.
  const log = given.config.logLevelGiven ? given.log : given.log.child({}, { level: 'warn' })
  const options = { ...given, log }
  const { config, terminal, signal } = options
  const closing = openClosing()
  try {
    terminal.say(`vitalsync: starting in ${config.dataFolder}`)
    const { addresses, local, sandbox } = await startEngines(options, closing)
    await migrateWarehouse(addresses.databaseUrl)
    const stop = new AbortController()
    const pipeline = closing.add(
      await openPipeline({ config, addresses, log, onSkewed: (error) => stop.abort(error) }),
      'pipeline',
    )
    const working = closing.add(
      startWork({ pipeline, config, log, onSilent: (problem) => stop.abort(problem) }),
      'worker',
    )
    if (local) closing.add(await writeRunning(config.dataFolder, runningOf(addresses)), 'addresses')
    const stopped = AbortSignal.any([signal, stop.signal])
    const run = await syncOnce({ ...options, signal: stopped }, { pipeline, working, sandbox })
    await printLoaded(pipeline, run, terminal)
    printAddresses({ local, addresses, sandbox }, terminal)
    if (!options.once) await stayUntilStopped({ ...options, signal: stopped }, pipeline, closing)
    if (stop.signal.aborted) throw stop.signal.reason
    return run.failed + run.refused > 0 ? 1 : 0
  } catch (error) {
    if (!signal.aborted) throw told(error)
    terminal.progressEnd()
    return 0
  } finally {
    await closing.close()
    if (signal.aborted) terminal.say('stopped')
  }
}

/** A full disk shows in many places, by one of two codes: the system's and Postgres's. */
function told(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code !== 'ENOSPC' && code !== '53100') return error
  return new Problem('work in the data folder: the disk is full', {
    hint: 'Free some space, or choose a folder on another disk with VITALSYNC_DATA, and start again: nothing that was stored is lost.',
    cause: error,
  })
}

function runningOf({ databaseUrl, queueUrl, upstream, tokenKey }: Addresses): Running {
  const startedAt = new Date().toISOString()
  return { pid: process.pid, startedAt, databaseUrl, queueUrl, upstream, tokenKey: tokenKey.toString('base64') }
}

type Parts = { pipeline: Pipeline; working: Working; sandbox: Sandbox | undefined }

/** Finds whoever is there, and syncs them. */
async function syncOnce(options: UpOptions, { pipeline, working, sandbox }: Parts): Promise<Run> {
  const { config, terminal, signal } = options
  if (sandbox) await untilDerived(sandbox, options)
  await discoverProfiles.run({}, { ...pipeline.context, signal, lane: 'manual', runId: undefined, lastAttempt: true })
  const run = await pipeline.runs.start('sync', {})
  await produceRun({ pipeline, config, signal }, run)
  const settle = (now: Run) => settleRun({ pipeline, config, signal }, now)
  return followRun({ pipeline, runId: run.id, lane: 'manual', terminal, signal, settle, halted: working.halted })
}

/** A sync before the sandbox has thought would find little; a real upstream is never waited for. */
async function untilDerived(sandbox: Sandbox, { terminal, signal }: UpOptions): Promise<void> {
  let most = 0
  const derived = sandbox.derived((left) => {
    most = Math.max(most, left)
    terminal.progress(`scores derived, ${number(left)} of ${number(most)} days to go`, 1 - left / most)
  })
  derived.catch(() => undefined) // closed while we are leaving
  await Promise.race([derived, aborted(signal)])
  terminal.progressEnd()
  signal.throwIfAborted()
  if (most > 0) terminal.say(`  ${terminal.paintSaid('good', '✓')} Scores are derived from their logs`)
}

async function printLoaded(pipeline: Pipeline, run: Run, terminal: Terminal): Promise<void> {
  const counts = await countRows(pipeline)
  if (terminal.json) return terminal.printJson({ run, rows: Object.fromEntries(counts) })
  const took = run.endedAt ? duration(run.endedAt.getTime() - run.startedAt.getTime()) : '…'
  terminal.print(
    `\nSynced ${many(run.done, 'profile')} in ${took}: ${many(run.requests, 'request')}, ${number(run.rowsRead)} rows read, ${number(run.rowsWritten)} written` +
      (run.failed > 0 ? `, ${terminal.paint('bad', `${many(run.failed, 'profile')} failed`)}` : '') +
      (run.refused > 0 ? `, ${terminal.paint('odd', `${number(run.refused)} windows or records refused`)}` : ''),
  )
  terminal.print(`\n${table(['stream', 'rows in the warehouse'], counts)}`)
}

async function countRows({ pool }: Pipeline): Promise<Array<[string, number]>> {
  const counts: Array<[string, number]> = []
  for (const { name, table: source } of streams) {
    const { rows } = await pool.query(`select count(*)::int as n from vitalsync.${source}`)
    counts.push([name, rows[0].n])
  }
  return counts
}

function printAddresses({ local, sandbox }: Engines, terminal: Terminal): void {
  if (terminal.json) return
  if (local) terminal.print(`\nLook at it:       ${local.psqlLine}`)
  if (sandbox) terminal.print(`Profile Service:  ${sandbox.url}/docs`)
}

async function stayUntilStopped({ config, terminal, log, signal }: UpOptions, pipeline: Pipeline, closing: Closing) {
  const scheduler = closing.add(await startTicks(pipeline, config, log), 'schedule')
  for (const { name, at } of scheduler.next()) terminal.say(`next ${name}: ${at?.toISOString() ?? 'never'}`)
  terminal.say('Working by schedule. Ctrl-C stops.')
  await aborted(signal)
  terminal.say('stopping …')
}
