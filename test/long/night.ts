/**
 * A night with faults, seen by a real Prometheus:  npm run night
 *
 * Starts a sandbox, a scheduler, a worker and Prometheus (Debian's package `prometheus`) with the rules of config/alerts.yml, their
 * waits shortened to seconds. Asks every panel of the dashboards for data, then provokes faults one after the other, and waits
 * until the alerts fire and until they resolve. Ends with exit code 1 when one of this is not seen. Takes about ten minutes.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parse, stringify } from 'yaml'
import { startPostgres } from '../../src/engines/embedded-postgres.ts'
import { readDashboards } from '../monitoring/dashboards.ts'
import { freePort } from '../support/ports.ts'
import { type Program, startProgram } from '../support/run-program.ts'

const folder = await mkdtemp(join(tmpdir(), 'vitalsync-night-'))
const closing: Array<() => Promise<unknown>> = [() => rm(folder, { recursive: true, force: true })]
const missed: string[] = []
const POLL_EVERY_MS = 500
const say = (text: string) => void process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`)

async function until(what: string, isSo: () => Promise<boolean>, timeoutMs = 120_000): Promise<void> {
  for (const startMs = performance.now(); ; await wait(POLL_EVERY_MS)) {
    const isSeen = await isSo().catch(() => false)
    if (!isSeen && performance.now() - startMs < timeoutMs) continue
    if (!isSeen) missed.push(what)
    say(`${isSeen ? 'seen' : 'NOT SEEN'}: ${what}`)
    return
  }
}

type Alert = { readonly state: string; readonly labels: { readonly alertname: string } }

const programs = new Map<string, Program>()
function start(name: string, words: string[], env: Record<string, string>): Program {
  const program = startProgram(words, { cwd: folder, env: { LOG_LEVEL: 'info', METRICS_PORT: '0', ...env } })
  programs.set(name, program)
  closing.push(async () => {
    program.kill('SIGKILL')
    await program.ended
  })
  return program
}
const metricsOf = async (program: Program) =>
  new URL((await program.said(/"url":"(http:[^"]+)","msg":"metrics/))[1] ?? '').host

try {
  const postgres = await startPostgres({ folder: join(folder, 'postgres'), throwAway: true })
  closing.push(() => postgres.close())
  const { default: pg } = await import('pg')
  const admin = new pg.Client({ connectionString: postgres.adminUrl('postgres') })
  await admin.connect()
  closing.push(() => admin.end())
  for (const name of ['service', 'warehouse']) await admin.query(`create database ${name}`)
  const sandbox = start(
    'sandbox',
    ['sandbox', '--host', '127.0.0.1', '--port', '0', '--profiles', '20', '--days', '5', '--json'],
    {
      DATABASE_URL: postgres.adminUrl('service'),
    },
  )
  const printed = await sandbox.said(/^\{"url":.*"clientId".*\}$/m)
  const { url, clientId, clientSecret } = JSON.parse(printed[0])
  const env = {
    DATABASE_URL: postgres.adminUrl('warehouse'),
    UPSTREAM_URL: url,
    UPSTREAM_CLIENT_ID: clientId,
    UPSTREAM_CLIENT_SECRET: clientSecret,
    TOKEN_KEY: Buffer.alloc(32, 3).toString('base64'),
    HISTORY_DAYS: '5',
    SWEEP_CRON: '* * * * *',
  }
  const command = (...words: string[]) => startProgram(words, { cwd: folder, env }).ended
  await command('migrate')
  await command('profiles', 'discover')
  const warehouse = new pg.Client({ connectionString: env.DATABASE_URL })
  await warehouse.connect()
  closing.push(() => warehouse.end())
  await warehouse.query(
    "insert into vitalsync.slots (schedule, slot_at) values ('nightly', clock_timestamp() - interval '2 days')",
  )
  const startWorker = () => start('worker', ['worker'], env)
  const startScheduler = () => start('scheduler', ['schedule'], env)
  const [workerPort, schedulerPort] = [await metricsOf(startWorker()), await metricsOf(startScheduler())]
  const sites = { worker: workerPort, scheduler: schedulerPort, service: new URL(url).host }

  // The waits and the long bounds of the rules, in seconds instead of minutes.
  const rules = parse(await readFile(new URL('../../config/alerts.yml', import.meta.url), 'utf8'))
  for (const { rules: list } of rules.groups)
    for (const rule of list) {
      if (rule.for) rule.for = '2s'
      rule.expr = rule.expr
        .replace(/\[(1h|15m|5m)\]/g, '[30s]')
        .replace('> 600', '> 50')
        .replace('> 300', '> 130')
    }
  await writeFile(join(folder, 'alerts.yml'), stringify(rules))
  const targetsFile = join(folder, 'targets.json')
  /** Renamed when it is whole: Prometheus reads the file whenever it changes. */
  const scrape = async (targets: Record<string, string>) => {
    const list = Object.entries(targets).map(([job, target]) => ({ targets: [target], labels: { job } }))
    await writeFile(`${targetsFile}.new`, JSON.stringify(list))
    await rename(`${targetsFile}.new`, targetsFile)
  }
  await scrape(sites)
  await writeFile(
    join(folder, 'prometheus.yml'),
    stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: ['alerts.yml'],
      scrape_configs: [{ job_name: 'vitalsync', file_sd_configs: [{ files: [targetsFile], refresh_interval: '2s' }] }],
    }),
  )
  const port = await freePort()
  const prometheus = spawn(
    'prometheus',
    [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/tsdb`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  const ended = once(prometheus, 'exit')
  closing.push(async () => {
    prometheus.kill('SIGTERM')
    await ended
  })
  const ask = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)
    return ((await answer.json()) as { data: { alerts: Alert[]; result: Array<{ value: [number, string] }> } }).data
  }
  const firing = async () =>
    (await ask('alerts')).alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname)
  const fires = (name: string) => until(`${name} fires`, async () => (await firing()).includes(name), 300_000)
  const resolves = (name: string) => until(`${name} resolves`, async () => !(await firing()).includes(name), 240_000)

  await until('all three are scraped', async () => (await ask('query?query=sum(up)')).result[0]?.value[1] === '3')
  await until(
    'the night ended',
    async () =>
      (await warehouse.query("select 1 from vitalsync.runs where kind = 'nightly' and state = 'done'")).rowCount === 1,
  )
  for (const { name, panels } of await readDashboards())
    for (const { title, targets } of panels)
      for (const { expr } of targets)
        await until(
          `${name}: ${title}`,
          async () =>
            (await ask(`query?query=${encodeURIComponent(expr.replaceAll('[5m]', '[1m]'))}`)).result.length > 0,
        )

  say('fault: no worker, while the sweep orders jobs')
  const end = async (name: string) => {
    programs.get(name)?.kill('SIGKILL')
    await programs.get(name)?.ended
  }
  await end('worker')
  await warehouse.query('update vitalsync.profiles set due_at = clock_timestamp()')
  await fires('NotReady')
  await fires('NothingClaimed')
  sites.worker = await metricsOf(startWorker())
  await scrape(sites)
  await resolves('NotReady')
  await resolves('NothingClaimed')

  say('fault: no scheduler')
  await end('scheduler')
  await fires('SlotMissed')
  sites.scheduler = await metricsOf(startScheduler())
  await scrape(sites)
  await resolves('SlotMissed')

  say('fault: upstream refuses the account')
  await warehouse.query(
    "update vitalsync.tokens set broken_reason = 'refused', broken_until = clock_timestamp() + interval '5 s' where profile_id is null",
  )
  await fires('RenewalFailing')
  await warehouse.query(
    'update vitalsync.tokens set broken_reason = null, broken_until = null where profile_id is null',
  )
  await resolves('RenewalFailing')

  say('fault: a clock that is off')
  const setClock = (seconds: number) =>
    warehouse.query(`
    create schema if not exists off;
    create or replace function off.clock_timestamp() returns timestamptz volatile language sql
      as $$ select pg_catalog.clock_timestamp() + interval '${seconds} s' $$;
    alter database warehouse set search_path = off, public, pg_catalog`)
  const reconnect = () =>
    admin.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'warehouse' and application_name = 'vitalsync'",
    )
  await setClock(8)
  await reconnect()
  await fires('ClockOff')
  await setClock(0)
  await resolves('ClockOff')
} finally {
  for (const close of closing.toReversed()) await close().catch((error: Error) => say(error.message))
}
say(missed.length === 0 ? 'all was seen' : `not seen: ${missed.join('; ')}`)
process.exitCode = missed.length === 0 ? 0 : 1
