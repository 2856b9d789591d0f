/** Run as a process of its own, to be killed: derives what is due in the database of its first argument, and says so. */
import { startRecompute } from '../../src/service/recompute/recompute.ts'
import { openPool } from '../../src/service/store/pool.ts'
import { quiet } from './profiles.ts'

const [databaseUrl = '', at = ''] = process.argv.slice(2)
const pool = openPool({ databaseUrl, log: quiet, connectionsMax: 2, statementTimeoutMs: 60_000 })
const recompute = await startRecompute({
  pool,
  databaseUrl,
  log: quiet,
  clock: () => Date.parse(at),
  everyMs: 3_600_000,
  profilesPerRound: 1,
})
process.stdout.write('started\n')
await recompute.idle()
process.stdout.write('idle\n')
await recompute.close()
await pool.end()
