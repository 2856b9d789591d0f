import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { freePort } from '../../../src/base/engines/embedded-postgres.ts'
import { UsageProblem } from '../../../src/base/errors.ts'
import { findPooler, requireDirectConnection } from '../../../src/base/postgres/direct-connection.ts'
import { test } from '../../support/fixtures.ts'
import { needProgram } from '../../support/programs.ts'

type Options = { readonly databaseUrl: string; readonly mode: 'session' | 'transaction'; readonly settings?: string }

/** Debian's PgBouncer before one database; resolves when it listens. */
async function startPgBouncer({ databaseUrl, mode, settings = '' }: Options) {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-pgbouncer-'))
  await chmod(folder, 0o755)
  const port = await freePort()
  const { hostname, port: serverPort, username, password, pathname } = new URL(databaseUrl)
  const database = pathname.slice(1)
  const target = `host=${hostname} port=${serverPort} user=${username} password=${decodeURIComponent(password)}`
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(
    file,
    `[databases]\n${database} = ${target}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\n` +
      `unix_socket_dir =\nauth_type = any\npool_mode = ${mode}\n${settings}\n`,
  )
  const asNobody = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {} // it refuses to run as root
  const child = spawn('pgbouncer', [file], { ...asNobody, stdio: ['ignore', 'ignore', 'pipe'] })
  const listening = new Promise<void>((resolve) => {
    child.stderr.on('data', (chunk: Buffer) => {
      if (chunk.includes('process up')) resolve()
    })
  })
  const died = once(child, 'exit').then(() => Promise.reject(new Error('start PgBouncer: it ended at once')))
  await Promise.race([listening, died])
  died.catch(() => undefined) // it is killed at the end
  const url = new URL(databaseUrl)
  url.hostname = '127.0.0.1'
  url.port = String(port)
  return {
    url: url.href,
    async close() {
      child.kill('SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const ignoring = 'ignore_startup_parameters = options,extra_float_digits'

test('Postgres itself is no pooler', async ({ warehouseUrl }) => {
  expect(await findPooler(warehouseUrl)).toBe(undefined)
})

test('PgBouncer is refused in every mode, with the variable and the cure', async ({
  warehouseUrl,
  skip,
  onTestFinished,
}) => {
  needProgram(skip, 'pgbouncer')
  const faults: string[] = []
  for (const options of [
    { mode: 'transaction' },
    { mode: 'transaction', settings: ignoring },
    { mode: 'session', settings: ignoring },
  ] as const) {
    const bouncer = await startPgBouncer({ databaseUrl: warehouseUrl, ...options })
    onTestFinished(bouncer.close)
    faults.push((await findPooler(bouncer.url))?.text ?? 'none')
    const refused = await requireDirectConnection(bouncer.url, 'DATABASE_URL').catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(UsageProblem)
    expect((refused as UsageProblem).message).toContain('use DATABASE_URL: it leads to')
    expect((refused as UsageProblem).hint).toContain('the address of Postgres itself')
    await bouncer.close()
  }
  expect(faults).toEqual([
    'it leads to PgBouncer, which refuses the settings of our connections',
    'it leads to a pooler that shares sessions among connections (transaction pooling)',
    'it leads to a pooler that drops the settings of our connections',
  ])
})
