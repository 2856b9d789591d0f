/** Run as a separate process, also to be killed: derives the due profiles in the database of its first argument. */
import { startRecompute } from '../../../src/service/recompute/start-recompute.ts'
import { createServicePool } from '../../../src/service/store/service-pool.ts'
import { quiet } from './recompute-world.ts'

const [databaseUrl = '', at = '', threads = '1'] = process.argv.slice(2)
// A test that locks a profile waits meanwhile for other profiles to be derived, and the machine may be busy.
const pool = createServicePool({ databaseUrl, log: quiet, connectionsMax: 2, statementTimeoutMs: 290_000 })
const recompute = await startRecompute({
  pool,
  databaseUrl,
  log: quiet,
  clock: () => Date.parse(at),
  everyMs: 3_600_000,
  profilesPerRound: 1,
  threads: Number(threads),
})
process.stdout.write('started\n')
await recompute.idle()
process.stdout.write('idle\n')
await recompute.close()
await pool.end()
