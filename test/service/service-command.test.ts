import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect } from 'vitest'
import { test } from '../support/fixtures.ts'
import { entry } from '../support/run-program.ts'

const root = new URL('../../', import.meta.url)

type Ended = { code: number | null; out: string; err: string }

/** Runs the program as a shell does, with only these environment variables. */
function start(words: string[], environment: Record<string, string>): { child: ChildProcess; ended: Promise<Ended> } {
  const env = { PATH: process.env['PATH'] ?? '', ...environment }
  const child = spawn(process.execPath, [entry, ...words], { cwd: root, env })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  child.stderr.on('data', (chunk) => {
    err += chunk
  })
  const ended = once(child, 'close').then(([code]) => ({ code, out, err }))
  return { child, ended }
}

const run = (words: string[], environment: Record<string, string>) => start(words, environment).ended

describe('vitalsync service', () => {
  test('serves from a bare database, with keys made before, until SIGTERM', async ({ database }) => {
    const environment = { DATABASE_URL: database, PORT: '0' }
    const made = await run(['service', 'keys', 'create', '--account', 'acme', '--json'], environment)
    const { clientId, clientSecret } = JSON.parse(made.out)
    const { child, ended } = start(['service', '--json'], environment)
    const line = await Promise.race([once(child.stdout ?? child, 'data').then(([chunk]) => String(chunk)), ended])
    const { url } = JSON.parse(typeof line === 'string' ? line : line.err)

    const answer = await fetch(`${url}/api/v1/oauth/account/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ clientId, clientSecret }),
    })
    expect(answer.status).toBe(200)
    child.kill('SIGTERM')

    expect(await ended).toMatchObject({ code: 0, out: `${JSON.stringify({ url })}\n` })
  })

  test('keys are made, listed without secrets, and revoked once', async ({ database }) => {
    const environment = { DATABASE_URL: database }
    const made = JSON.parse((await run(['service', 'keys', 'create', '--app', '--json'], environment)).out)

    const list = async () => JSON.parse((await run(['service', 'keys', 'list', '--json'], environment)).out)
    expect(await list()).toMatchObject([{ publicId: made.appId, kind: 'app', account: 'default', revokedAt: null }])
    expect(JSON.stringify(await list())).not.toContain(made.appSecret)
    expect((await run(['service', 'keys', 'revoke', made.appId], environment)).code).toBe(0)
    expect((await list())[0].revokedAt).not.toBeNull()
    const again = await run(['service', 'keys', 'revoke', made.appId], environment)
    expect(again.code).toBe(2)
    expect(again.err).toMatch(/no such key[\s\S]*keys list/)
  })

  test.for([
    ['without DATABASE_URL', {}, 2, /DATABASE_URL is not set/],
    ['with a port that is none', { DATABASE_URL: 'postgres://127.0.0.1/x', PORT: '70000' }, 2, /PORT/],
    ['without a server', { DATABASE_URL: 'postgres://a:b@127.0.0.1:1/x' }, 3, /nothing listens there/],
  ] as const)('%s says so and ends', async ([, environment, code, words]) => {
    const ended = await run(['service'], environment)

    expect(ended.code).toBe(code)
    expect(ended.err).toMatch(words)
    expect(ended.err).not.toMatch(/^\s+at /m)
  })
})
