import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../../../src/engines/embedded-postgres.ts'

/** One server for all test processes: that of TEST_DATABASE_URL, or an embedded one, whose templates are made once. */
export async function withServer<T>(work: (serverUrl: string) => Promise<T>): Promise<T> {
  const given = process.env['TEST_DATABASE_URL']
  if (given) return work(given)
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-sql-mutants-'))
  await chmod(folder, 0o755) // as root, the server runs as nobody and must be able to enter
  const postgres = await startPostgres({ folder, throwAway: true, connectionsMax: 300 })
  process.env['TEST_DATABASE_URL'] = postgres.adminUrl('postgres')
  try {
    return await work(postgres.adminUrl('postgres'))
  } finally {
    delete process.env['TEST_DATABASE_URL']
    await postgres.close()
    await rm(folder, { recursive: true, force: true })
  }
}
