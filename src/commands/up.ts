import type { Config } from '../../config/env.ts'
import { streams } from '../../config/streams.ts'
import { discoverProfiles } from '../../jobs/discover-profiles.ts'
import { type LocalEngines, startLocalEngines } from '../engines/local.ts'
import { UsageProblem } from '../errors.ts'
import type { Log } from '../log.ts'
import { type Sandbox, startSandbox } from '../service/sandbox/sandbox.ts'
import type { Run } from '../warehouse/runs.ts'
import { type Closing, openClosing } from './closing.ts'
import { followRun } from './follow.ts'
import { migrateWarehouse } from './migrate.ts'
import { type Addresses, openPipeline, type Pipeline } from './pipeline.ts'
import { duration, number, type Terminal, table } from './terminal.ts'
import { produceRun, startTicks, startWork, type Working } from './work.ts'

export type UpOptions = {
  readonly config: Config
  readonly terminal: Terminal
  readonly log: Log
  /** Leaves after the first sync. */
  readonly once: boolean
  readonly profiles: number
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal
}

/**
 * Everything in one process: what is not given by an address is started here. Syncs at once, then works by schedule
 * until told to stop. Returns the exit code.
 */
export async function up(options: UpOptions): Promise<number> {
  const { config, terminal, log, signal } = options
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
    const stopped = AbortSignal.any([signal, stop.signal])
    const run = await syncOnce({ ...options, signal: stopped }, { pipeline, working, sandbox })
    await printLoaded(pipeline, run, terminal)
    printAddresses({ local, addresses, sandbox }, terminal)
    if (!options.once) await stayUntilStopped({ ...options, signal: stopped }, pipeline, closing)
    if (stop.signal.aborted) throw stop.signal.reason
    return run.failed + run.refused > 0 ? 1 : 0
  } catch (error) {
    if (!signal.aborted) throw error
    return 0
  } finally {
    await closing.close()
  }
}

type Engines = { addresses: Addresses; local: LocalEngines | undefined; sandbox: Sandbox | undefined }

/** Starts what no address is given for. */
async function startEngines({ config, terminal, profiles, log }: UpOptions, closing: Closing): Promise<Engines> {
  const needsLocal = !config.databaseUrl || !config.upstream
  const local = needsLocal ? closing.add(await startLocalEngines(config.dataFolder), 'Postgres') : undefined
  if (local) terminal.say('  Postgres is running')
  const sandbox = config.upstream || !local ? undefined : await startPeople({ local, config, profiles, log }, closing)
  if (sandbox) terminal.say(`  Profile Service is running at ${sandbox.url}`)
  const databaseUrl = config.databaseUrl ?? local?.databaseUrl ?? ''
  const addresses = {
    databaseUrl,
    queueUrl: config.queueUrl ?? (config.databaseUrl ? databaseUrl : (local?.queueUrl ?? databaseUrl)),
    upstream: config.upstream ?? credentialsOf(sandbox),
    tokenKey: config.tokenKey ?? local?.tokenKey ?? needTokenKey(),
  }
  return { addresses, local, sandbox }
}

function needTokenKey(): never {
  throw new UsageProblem('read configuration: TOKEN_KEY is not set', {
    hint: 'Tokens in a database of your own are encrypted with it: openssl rand -base64 32.',
  })
}

type PeopleOptions = { local: LocalEngines; config: Config; profiles: number; log: Log }

async function startPeople({ local, config, profiles, log }: PeopleOptions, closing: Closing): Promise<Sandbox> {
  const started = startSandbox({
    databaseUrl: local.serviceUrl,
    port: config.port,
    profiles,
    seed: 'vitalsync',
    log,
  })
  return closing.add(await started, 'Profile Service')
}

function credentialsOf(sandbox: Sandbox | undefined): Addresses['upstream'] {
  if (!sandbox) throw new Error('start engines: neither an upstream nor a sandbox')
  const { url, clientId, clientSecret, appId, appSecret } = sandbox
  return { url, clientId, clientSecret, appId, appSecret }
}

type Parts = { pipeline: Pipeline; working: Working; sandbox: Sandbox | undefined }

/** Finds whoever is there, and syncs them. */
async function syncOnce(options: UpOptions, { pipeline, working, sandbox }: Parts): Promise<Run> {
  const { config, terminal, signal } = options
  if (sandbox) {
    terminal.progress('  the sandbox derives scores from its people’s logs …')
    await Promise.race([sandbox.derived(), aborted(signal)])
    signal.throwIfAborted()
  }
  await discoverProfiles.run({}, { ...pipeline.context, signal, lane: 'manual', runId: undefined, lastAttempt: true })
  const run = await pipeline.runs.start('sync', {})
  await produceRun(pipeline, config, run, signal)
  return followRun({ pipeline, runId: run.id, lane: 'manual', terminal, signal, halted: working.halted })
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

async function printLoaded(pipeline: Pipeline, run: Run, terminal: Terminal): Promise<void> {
  const counts = await countRows(pipeline)
  if (terminal.json) return terminal.printJson({ run, rows: Object.fromEntries(counts) })
  const took = run.endedAt ? duration(run.endedAt.getTime() - run.startedAt.getTime()) : '…'
  terminal.print(
    `\nSynced ${number(run.done)} profiles in ${took}: ${number(run.requests)} requests, ${number(run.rowsRead)} rows read, ${number(run.rowsWritten)} written` +
      (run.failed > 0 ? `, ${number(run.failed)} profiles failed` : '') +
      (run.refused > 0 ? `, ${number(run.refused)} windows or records refused` : ''),
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
