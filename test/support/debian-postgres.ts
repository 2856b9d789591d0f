import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '../../src/base/engines/embedded-postgres.ts'

const run = promisify(execFile)
const NOBODY = 65_534
const home = '/usr/lib/postgresql'

export type DebianPostgres = {
  /** The folder of its programs: the server and pg_dump are of one version. */
  readonly bin: string
  url(database: string): string
  close(): Promise<void>
}

/** The folder of the programs of the newest Postgres that Debian's packages brought; undefined where there is none. */
export async function findDebianPostgres(): Promise<string | undefined> {
  const versions = (await readdir(home).catch(() => [])).toSorted()
  const bin = join(home, versions.at(-1) ?? '', 'bin')
  const programs = await readdir(bin).catch((): string[] => [])
  return ['initdb', 'pg_dump'].every((name) => programs.includes(name)) ? bin : undefined
}

export async function startDebianPostgres(bin: string): Promise<DebianPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-debian-postgres-'))
  const asNobody = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
  if (asNobody.uid) await chown(folder, NOBODY, NOBODY)
  await chmod(folder, 0o755)
  const data = join(folder, 'data')
  await run(join(bin, 'initdb'), ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'], {
    cwd: folder,
    ...asNobody,
  })
  const port = await freePort()
  const words = ['-D', data, '-p', String(port), '-k', folder, '-c', 'listen_addresses=127.0.0.1', '-c', 'fsync=off']
  const server = spawn(join(bin, 'postgres'), words, { stdio: ['ignore', 'ignore', 'pipe'], cwd: folder, ...asNobody })
  const ended = once(server, 'exit')
  server.stderr.setEncoding('utf8')
  for await (const text of server.stderr.iterator({ destroyOnReturn: false }))
    if (String(text).includes('ready to accept connections')) break
  server.stderr.resume() // a full pipe would stop the server
  return {
    bin,
    url: (database) => `postgres://postgres@127.0.0.1:${port}/${database}`,
    async close() {
      server.kill('SIGINT')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}
