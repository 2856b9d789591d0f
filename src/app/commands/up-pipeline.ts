import { flushCompileCache } from 'node:module'
import { pulledStreams } from '../../../config/streams.ts'
import { discoverProfiles } from '../../../jobs/discover-profiles.ts'
import type { CloseStack } from '../../base/close-stack.ts'
import { portOf, readKeptPort } from '../../base/engines/kept-port.ts'
import { type RunningEngines, writeRunning } from '../../base/engines/running-file.ts'
import { formatCount, formatDuration, formatNumber, shellQuoted } from '../../base/text/readable.ts'
import { DAY } from '../../base/time/units.ts'
import { startDashboard } from '../../dashboard/start-dashboard.ts'
import type { EngineAddresses } from '../../operations/addresses.ts'
import { followRun } from '../../operations/follow-run.ts'
import { migrateWarehouse } from '../../operations/migrate-warehouse.ts'
import { openPipeline, type Pipeline } from '../../operations/pipeline.ts'
import { untilAborted } from '../../operations/processes/repeat.ts'
import { openMonitoring } from '../../operations/processes/start-monitoring.ts'
import { startProducingScheduler } from '../../operations/processes/start-producing.ts'
import { type RunningWorker, startWorker, workerCloseMaxMs } from '../../operations/processes/start-worker.ts'
import { produceRun, recoverContextOf } from '../../operations/produce-run.ts'
import type { Pool } from '../../pipeline/warehouse/postgres/warehouse-pool.ts'
import type { Run } from '../../pipeline/warehouse/runs/stored-runs.ts'
import { recoverRun } from '../../pipeline/work/recover-run.ts'
import { shrinkHeap } from '../../service/recompute/shrink-heap.ts'
import type { Sandbox } from '../../service/start-sandbox.ts'
import { untilSandboxDerived } from '../complete-run.ts'
import { warnOfExposedConnections } from '../exposed-connections.ts'
import type { StartedEngines } from '../join-engines.ts'
import { writeSandboxCredentials } from '../sandbox-secret.ts'
import { type CommandContext, exitCodes } from '../terminal/command-context.ts'
import { formatTable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** The part of `up` that stands on its engines; it is loaded while Postgres starts. */
type UpPipeline = StartedEngines & {
  /** Leaves after the first sync. */
  readonly once: boolean
  readonly monitoring: Awaited<ReturnType<typeof openMonitoring>>
}

export const openUpMonitoring = async ({ config, log }: CommandContext, closeStack: CloseStack) =>
  closeStack.add(await openMonitoring(config, { name: 'vitalsync-up', log }), 'monitoring')

type Warehouse = Pick<EngineAddresses, 'databaseUrl' | 'questionsKeys'>

export const prepareWarehouse = ({ databaseUrl, questionsKeys }: Warehouse, { say }: Terminal) =>
  migrateWarehouse(databaseUrl, say, questionsKeys[0])

/** Syncs at once, then works by schedule until it is stopped. Returns the exit code. */
export async function runPipeline(
  context: CommandContext,
  { once, monitoring, addresses, local, sandbox }: UpPipeline,
  closeStack: CloseStack,
): Promise<number> {
  const { config, terminal, log, signal } = context
  warnOfExposedConnections(log, addresses)
  const stop = new AbortController()
  const pipeline = closeStack.add(
    await openPipeline({ config, addresses, log, onSkewed: (error) => stop.abort(error) }),
    'pipeline',
  )
  const worker = closeStack.add(
    startWorker({ pipeline, config, log, onSilent: (problem) => stop.abort(problem) }),
    'worker',
    workerCloseMaxMs(config),
  )
  closeStack.add(monitoring.watch(pipeline, worker), 'fleet watch')
  if (local) closeStack.add(await writeRunning(config.dataFolder, runningEnginesOf(addresses)), 'addresses')
  const stopped = AbortSignal.any([signal, stop.signal])
  const dashboard = once ? undefined : await serveDashboard(context, { pipeline, addresses }, closeStack)
  const run = await runFirstSync({ ...context, signal: stopped }, { pipeline, worker, sandbox })
  dashboard?.bundlePages().catch((error: unknown) => stop.abort(error))
  await printLoaded(pipeline, run, terminal)
  if (!terminal.json && !once) await printAddresses({ local, sandbox }, pipeline, context)
  if (!terminal.json && once) printHowToGoOn(context, local !== undefined)
  if (monitoring.url && !once) terminal.say(`Metrics:          ${monitoring.url}/metrics`)
  shrinkHeap()
  if (!once) await stayUntilStopped({ ...context, signal: stopped }, pipeline, closeStack)
  if (stop.signal.aborted) throw stop.signal.reason
  return run.failed + run.refused > 0 ? exitCodes.failures : exitCodes.done
}

/** The address stays: the folder keeps the port. The pages are bundled when they are asked for, or after the first sync. */
async function serveDashboard(
  { config, terminal, log }: CommandContext,
  { pipeline, addresses }: { pipeline: Pipeline; addresses: EngineAddresses },
  closeStack: CloseStack,
) {
  const { host, port: firstPort } = config.dashboard
  const kept = await readKeptPort(config.dataFolder, 'dashboard-port', firstPort)
  const dashboard = await startDashboard({
    pipeline,
    addresses,
    config,
    log,
    host,
    port: kept.candidates,
    bundlesLater: true,
  })
  closeStack.add(dashboard, 'dashboard')
  const port = portOf(dashboard.url)
  const takenPort = await kept.keep(port)
  if (takenPort !== undefined) terminal.say(`    Port ${takenPort} is taken: the dashboard is at ${port}`)
  terminal.say(`\nDashboard:        ${dashboard.url}\n`)
  return dashboard
}

function runningEnginesOf({ databaseUrl, queueUrl, upstream, tokenKeys }: EngineAddresses): RunningEngines {
  const startedAt = new Date().toISOString()
  return {
    pid: process.pid,
    startedAt,
    databaseUrl,
    queueUrl,
    upstream,
    tokenKeys: tokenKeys.map((key) => key.toString('base64')),
  }
}

type UpParts = { pipeline: Pipeline; worker: RunningWorker; sandbox: Sandbox | undefined }

/** Adds all profiles that upstream knows, and syncs them. */
async function runFirstSync(context: CommandContext, { pipeline, worker, sandbox }: UpParts): Promise<Run> {
  const { config, terminal, signal } = context
  await discoverProfiles.run({}, { ...pipeline.context, signal, lane: 'manual', lastAttempt: true })
  if (sandbox) await untilSandboxDerived(sandbox, context)
  const run = await pipeline.runs.create('sync', {})
  const producing = { pipeline, config, signal }
  await produceRun(producing, run, { untilAll: true })
  return followRun({
    pipeline,
    runId: run.id,
    lane: 'manual',
    terminal,
    signal,
    recoverRun: (now) => recoverRun(recoverContextOf(producing), now),
    halted: worker.halted,
  })
}

async function printLoaded(pipeline: Pipeline, run: Run, terminal: Terminal): Promise<void> {
  const counts = await countRows(pipeline)
  if (terminal.json) return terminal.printJson('up', { run, rows: Object.fromEntries(counts) })
  const took = run.endedAt ? formatDuration(run.endedAt.getTime() - run.startedAt.getTime()) : '…'
  terminal.print(
    `\nSynced ${formatCount(run.done, 'profile')} in ${took}: ${formatCount(run.requests, 'request')}, ${formatNumber(run.rowsRead)} rows read, ${formatNumber(run.rowsWritten)} written` +
      (run.failed > 0 ? `, ${terminal.paint('bad', `${formatCount(run.failed, 'profile')} failed`)}` : '') +
      (run.refused > 0 ? `, ${terminal.paint('odd', `${formatNumber(run.refused)} windows or records refused`)}` : ''),
  )
  terminal.print(`\n${formatTable(['stream', 'rows in the warehouse'], counts)}`)
}

async function countRows({ pool }: Pipeline): Promise<Array<[string, number]>> {
  const counts: Array<[string, number]> = []
  for (const { name, table } of pulledStreams) {
    const { rows } = await pool.query<{ n: number }>(`select count(*)::int as n from vitalsync.${table}`)
    counts.push([name, rows[0]?.n ?? 0])
  }
  return counts
}

async function printAddresses(
  { local, sandbox }: Pick<StartedEngines, 'local' | 'sandbox'>,
  { pool }: Pipeline,
  { terminal, config }: CommandContext,
): Promise<void> {
  if (local) terminal.print(`\n${lookLine}\nWith psql:        ${local.psqlLine}`)
  if (!sandbox) return
  const invitation = { pool, sandbox, folder: config.dataFolder, showsSecret: terminal.printsToTerminal }
  terminal.print((await inviteToSandbox(invitation)).join('\n'))
}

/** Needs no program besides ours. */
const lookLine = 'Look at it:       npx vitalsync sql "select * from warehouse.scores limit 5"'

/** After the only sync no address answers any more. A shell finds neither the program of a checkout nor that of a project; npx finds both. */
function printHowToGoOn({ terminal, config }: CommandContext, isLocal: boolean): void {
  if (isLocal) terminal.print(`\nEverything stops now; the data stays in ${config.dataFolder}.`)
  terminal.print(lookLine)
  terminal.print('Start it again:   npx vitalsync up')
}

async function stayUntilStopped(context: CommandContext, pipeline: Pipeline, closeStack: CloseStack): Promise<void> {
  const { config, terminal, log, signal } = context
  const scheduler = closeStack.add(await startProducingScheduler(pipeline, config, log), 'schedule')
  for (const { name, at } of scheduler.nextTicks()) terminal.say(`next ${name}: ${at?.toISOString() ?? 'never'}`)
  terminal.say('Working by schedule. Ctrl-C stops.')
  flushCompileCache() // for the commands of the next terminal: they would compile all of it again until this process has ended
  await untilAborted(signal)
  terminal.say('stopping …')
}

type InvitationOptions = {
  readonly pool: Pool
  readonly sandbox: Sandbox
  readonly folder: string
  readonly showsSecret: boolean
}

/** How many days of scores the sample request asks for. */
const SHOWN_DAYS = 3

/**
 * The lines by which a newcomer asks the sandbox by hand: clientId, its secret or where it is, a person, and a request that works
 * when it is pasted into a shell. The secret is written to a file that only this user may read.
 */
async function inviteToSandbox({ pool, sandbox, folder, showsSecret }: InvitationOptions): Promise<string[]> {
  const file = await writeSandboxCredentials(folder, sandbox)
  const lines = [
    `Profile Service:  ${sandbox.url}/docs`,
    `Its console:      ${sandbox.consoleUrl}`,
    `clientId:         ${sandbox.clientId}`,
    `clientSecret:     ${showsSecret ? sandbox.clientSecret : `in ${file}`}`,
  ]
  const { rows } = await pool.query<{ external_id: string; newest: Date }>(
    `select external_id, max(score_date_time) as newest from warehouse.scores where gone_at is null
     group by external_id order by external_id limit 1`,
  )
  const [person] = rows
  if (person === undefined) return lines
  const from = new Date(Math.floor(person.newest.getTime() / DAY) * DAY - SHOWN_DAYS * DAY)
  const query = `startDateTime=${from.toISOString().slice(0, 10)}T00:00:00Z`
  const scores = `${sandbox.url}/api/v1/profile/score/${encodeURIComponent(person.external_id)}?${query}`
  return [
    ...lines,
    `Sample person:    ${person.external_id}`,
    '',
    'Ask it for the latest scores:',
    curlLine({ sandbox, file, scores }),
  ]
}

/** For any POSIX shell: the first request gets the token, and the second one sends it. No command line, which each user sees, holds it. */
const curlLine = ({ sandbox, file, scores }: { sandbox: Sandbox; file: string; scores: string }): string =>
  [
    `curl -s ${sandbox.url}/api/v1/oauth/account/token -H content-type:application/json -d @${quoted(file)}`,
    `cut -d '"' -f 4`,
    `sed 's/^/authorization: account /'`,
    `curl -s -H @- '${scores}'`,
  ].join(' | ')

const quoted = (path: string) => (/^[\w./-]+$/.test(path) ? path : shellQuoted(path))
