import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect } from 'vitest'
import { readConfig } from '../../../config/env.ts'
import { sandboxCredentialsOf } from '../../../src/base/contract/sandbox-credentials.ts'
import { test as base } from '../../support/fixtures.ts'
import { needTerminal, runAtTerminal } from '../../support/in-terminal.ts'
import { entry } from '../../support/run-program.ts'
import { json, query, runner, send } from './sandbox-world.ts'

type Running = { child: ChildProcess; firstLine: Promise<string>; ended: Promise<Ended> }
type Ended = { code: number | null; signal: string | null; stdout: string; stderr: string }
type Run = (words: string[], environment: Record<string, string>) => Running

/** Runs the program as a user does. Ends every program that a test left running, and then removes the folder of the test. */
const test = base.extend<{ run: Run; folder: string }>({
  run: async ({ folder }, use) => {
    const children: Running[] = []
    await use((words, environment) => {
      const running = start(words, { VITALSYNC_DATA: folder, ...environment })
      children.push(running)
      return running
    })
    for (const { child, ended } of children) {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
      await ended
    }
  },
  folder: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), 'vitalsync-sandbox-'))
    await chmod(folder, 0o755) // as root, Postgres runs as nobody and must be able to enter
    await use(folder)
    await rm(folder, { recursive: true, force: true })
  },
})

function start(words: string[], environment: Record<string, string>): Running {
  const env = { PATH: process.env['PATH'] ?? '', LOG_LEVEL: 'warn', ...environment }
  const child = spawn(process.execPath, [entry, 'sandbox', ...words], { env, cwd: tmpdir(), stdio: 'pipe' })
  const said = { stdout: '', stderr: '' }
  child.stdout.on('data', (bytes: Buffer) => {
    said.stdout += bytes.toString('utf8')
  })
  child.stderr.on('data', (bytes: Buffer) => {
    said.stderr += bytes.toString('utf8')
  })
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, ...said }))
  const firstLine = Promise.race([
    once(createInterface(child.stdout), 'line').then(([line]) => String(line)),
    ended.then(({ code, stderr }) => Promise.reject(new Error(`it ended with ${code}: ${stderr}`))),
  ])
  firstLine.catch(() => undefined) // a test that expects no line looks at the end instead
  return { child, firstLine, ended }
}

type Access = { readonly controlUrl: string; readonly controlToken: string }

const sendControl = ({ controlUrl, controlToken }: Access, path: string, options: Parameters<typeof send>[1] = {}) =>
  send(controlUrl + path, { ...options, headers: { authorization: `Bearer ${controlToken}` } })

const small = ['--port', '0', '--profiles', '7', '--days', '1', '--seed', '7']

describe('vitalsync sandbox', () => {
  test('prints one line of JSON when it answers, and leaves on SIGTERM with 0', async ({ run, serviceUrl }) => {
    const { child, firstLine, ended } = run([...small, '--json'], { DATABASE_URL: serviceUrl })
    const printed = JSON.parse(await firstLine)
    expect(Object.keys(printed)).toEqual([
      'url',
      'clientId',
      'clientSecret',
      'appId',
      'appSecret',
      'controlUrl',
      'controlToken',
    ])
    const { clientId, clientSecret } = printed
    const body = { clientId, clientSecret }
    const token = await send(`${printed.url}/api/v1/oauth/account/token`, { method: 'POST', body })
    const headers = { authorization: `account ${json(token).accountToken}` }
    expect((await send(`${printed.url}/api/v1/account/profile/${runner}`, { headers })).status).toBe(200)
    expect(json(await sendControl(printed, '/people')).length).toBe(7)

    child.kill('SIGTERM')
    const { code, stdout, stderr } = await ended
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout.trimEnd().split('\n')).toHaveLength(1)
  })

  test('prints the same as text, and starts with the given faults', async ({ run, folder, serviceUrl }) => {
    const words = [...small, '--fault', 'throttle=1,operations=searchProfiles', '--fault', 'late=0.2,hours=6']
    const { child, firstLine, ended } = run(words, { DATABASE_URL: serviceUrl })
    const url = (await firstLine).split(/\s+/).at(-1)
    const kept = JSON.parse(await readFile(join(folder, 'sandbox', 'sandbox-credentials.json'), 'utf8'))
    const faults = json(await sendControl({ controlUrl: `${url}/__control`, ...kept }, '/faults'))
    expect(faults.map((rule: { name: string }) => rule.name)).toEqual(['throttle', 'late'])
    child.kill('SIGINT')
    const { code, stdout } = await ended
    expect(code).toBe(0)
    for (const name of ['clientId', 'appId', 'secrets', 'control', '/docs', 'Ctrl-C']) expect(stdout).toContain(name)
    const [file = ''] = /\S+sandbox-credentials\.json/.exec(stdout) ?? []
    const { clientId, clientSecret, controlToken } = JSON.parse(await readFile(file, 'utf8'))
    expect(stdout).toContain(clientId)
    expect(stdout).not.toContain(clientSecret)
    expect(stdout).not.toContain(controlToken)
    expect((await stat(file)).mode & 0o077).toBe(0)
  })

  test('shows the secrets at a terminal, but not at that of a container, which the log of Docker keeps', {
    timeout: 120_000,
  }, async ({ skip, folder, serviceUrl }) => {
    needTerminal(skip)
    const env = { PATH: process.env['PATH'] ?? '', DATABASE_URL: serviceUrl, VITALSYNC_DATA: folder }
    const typed = { seen: 'Ctrl-C stops', send: '\u0003' }
    const runSandbox = (...around: string[]) =>
      runAtTerminal([...around, process.execPath, entry, 'sandbox', ...small], {
        cwd: folder,
        columns: 200,
        env,
        typed,
      })
    const { code, shown } = await runSandbox()
    const kept = JSON.parse(await readFile(join(folder, 'sandbox', 'sandbox-credentials.json'), 'utf8'))
    expect(code, shown).toBe(0)
    for (const [name, value] of Object.entries(kept)) expect(shown).toMatch(new RegExp(`^${name} +${value}$`, 'm'))

    const asFirstProcess = ['unshare', '--user', '--pid', '--fork', '--kill-child']
    if (spawnSync('unshare', [...asFirstProcess.slice(1), 'true']).status !== 0)
      return skip('no namespaces of processes')
    const contained = await runSandbox(...asFirstProcess)
    expect(contained.shown).toContain(kept.clientId)
    for (const secret of [kept.clientSecret, kept.appSecret, kept.controlToken])
      expect(contained.shown).not.toContain(secret)
  })

  test('has keys of its data folder alone, or those that follow from SANDBOX_SECRET', async ({
    run,
    folder,
    serviceUrl,
  }) => {
    const keysWith = async (environment: Record<string, string>) => {
      const { child, firstLine, ended } = run([...small, '--json'], { DATABASE_URL: serviceUrl, ...environment })
      const { clientId, clientSecret, appId, appSecret, controlToken } = JSON.parse(await firstLine)
      child.kill('SIGTERM')
      await ended
      return { clientId, clientSecret, appId, appSecret, controlToken }
    }
    const here = await keysWith({})
    expect(await keysWith({})).toEqual(here)
    const elsewhere = await keysWith({ VITALSYNC_DATA: join(folder, 'other') })
    expect(new Set([...Object.values(here), ...Object.values(elsewhere)]).size).toBe(10)

    const SANDBOX_SECRET = 'a secret for two programs'
    const given = await keysWith({ SANDBOX_SECRET, VITALSYNC_DATA: '/dev/null' })
    expect(given).toEqual(sandboxCredentialsOf(SANDBOX_SECRET))
    const { upstream } = readConfig({ SANDBOX_SECRET, UPSTREAM_URL: 'http://127.0.0.1:1' })
    expect(given).toMatchObject({ clientId: upstream?.clientId, clientSecret: upstream?.clientSecret })
  })

  test('says how to go on where its folder can keep no secret, or holds none', async ({ run, folder, serviceUrl }) => {
    const DATABASE_URL = serviceUrl
    const unkept = await run(small, { DATABASE_URL, VITALSYNC_DATA: '/dev/null' }).ended
    expect([unkept.code, unkept.stdout]).toEqual([2, ''])
    expect(unkept.stderr).toMatch(/data folder \/dev\/null.*SANDBOX_SECRET/s)

    const file = join(folder, 'sandbox', 'sandbox-secret')
    await mkdir(join(folder, 'sandbox'))
    await writeFile(join(folder, 'elsewhere'), 'known to others'.padEnd(43, 'x'))
    await symlink(join(folder, 'elsewhere'), file)
    const linked = await run(small, { DATABASE_URL }).ended
    expect([linked.code, linked.stderr]).toEqual([2, expect.stringContaining(`read ${file}: it is a symbolic link`)])

    await rm(file)
    await writeFile(file, 'half')
    const torn = await run(small, { DATABASE_URL }).ended
    expect([torn.code, torn.stderr]).toEqual([
      2,
      expect.stringMatching(/holds no secret of a sandbox.*Remove the file/s),
    ])
  })

  test.for([
    [['--fault', 'trottle=1'], 'no fault is named "trottle"'],
    [['--fault', 'throttle=2'], 'rate'],
    [['--profiles', 'many'], 'whole number'],
    [['--port', '99999'], '65535'],
    [['--nonsense'], 'unknown option'],
  ] as const)('refuses %j with 2 and one readable message', async ([words, message], { run, serviceUrl }) => {
    const { ended } = run(['--profiles', '1', '--days', '1', ...words], { DATABASE_URL: serviceUrl })
    const { code, stdout, stderr } = await ended
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(message)
    expect(stderr).not.toMatch(/^\s+at /m)
  })

  test('people: an export is written into a folder that is made for it', async ({ run, folder }) => {
    const output = join(folder, 'exports', 'today')

    expect(await run(['people', '--days', '1', '--output', output], {}).ended).toMatchObject({ code: 0 })
    expect(await readdir(output)).toHaveLength(1)
  })

  test('says that a port is taken', async ({ run, serviceUrl }) => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    const address = taken.address()
    const port = String(typeof address === 'object' ? address?.port : 0)
    const { ended } = run(['--port', port, '--profiles', '1', '--days', '1'], { DATABASE_URL: serviceUrl })
    const { code, stderr } = await ended
    taken.close()
    expect(code).toBe(2)
    expect(stderr).toContain(`port ${port}`)
    expect(stderr).toContain('choose another port')
  })

  test('says with 3 that its database cannot be reached', async ({ run }) => {
    const { ended } = run(small, { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' })
    const { code, stderr } = await ended
    expect(code).toBe(3)
    expect(stderr).toContain('reach Postgres at 127.0.0.1:1/none: nothing listens there')
  })

  test('stopped while it stores people, it leaves at once, and the next start goes on', async ({ run, serviceUrl }) => {
    const many = ['--port', '0', '--profiles', '60', '--json']
    const first = run(many, { DATABASE_URL: serviceUrl, LOG_LEVEL: 'info' })
    await expect.poll(() => countProfiles(serviceUrl)).toBeGreaterThan(2)
    first.child.kill('SIGTERM')
    const { code, stdout } = await first.ended
    expect([code, stdout]).toEqual([0, ''])
    const stored = await countProfiles(serviceUrl)
    expect(stored).toBeLessThan(60)

    const second = run(['--port', '0', '--profiles', String(stored + 2), '--json'], { DATABASE_URL: serviceUrl })
    expect(json(await sendControl(JSON.parse(await second.firstLine), '/people')).length).toBe(stored + 2)
  })

  test('brings a Postgres of its own, keeps its data, leaves nothing running, and survives a kill', async ({
    run,
    folder,
  }) => {
    const environment = { VITALSYNC_DATA: folder }
    const first = run([...small, '--json'], environment)
    const printed = JSON.parse(await first.firstLine)
    const again = await run([...small, '--json'], environment).ended
    expect([again.code, again.stdout]).toEqual([2, ''])
    expect(again.stderr).toContain('runs here already')
    const posted = await sendControl(printed, '/live', { method: 'POST', body: { hours: 24 } })
    expect(json(posted).logs).toBeGreaterThan(1000)
    first.child.kill('SIGTERM')
    expect((await first.ended).code).toBe(0)
    expect(existsSync(join(folder, 'sandbox', 'postgres', 'postmaster.pid'))).toBe(false)

    const second = run([...small, '--json'], environment)
    const { clientSecret } = JSON.parse(await second.firstLine)
    expect(clientSecret).toBe(printed.clientSecret)

    second.child.kill('SIGKILL') // its Postgres outlives it, and is stopped by the next start
    await second.ended
    const third = run([...small, '--json'], environment)
    expect(json(await sendControl(JSON.parse(await third.firstLine), `/ledger/${runner}`)).demographics).toHaveLength(1)
  })
})

async function countProfiles(databaseUrl: string): Promise<number> {
  const [counted] = await query<{ n: number }>(databaseUrl, 'select count(*)::int as n from service.profiles')
  return Number(counted?.n)
}
