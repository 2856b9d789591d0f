import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../src/base/engines/free-port.ts'

type Options = { readonly databaseUrl: string; readonly mode: 'session' | 'transaction'; readonly settings?: string }

/** Debian's PgBouncer before one database; resolves when it listens. */
export async function startPgBouncer({ databaseUrl, mode, settings = '' }: Options) {
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
