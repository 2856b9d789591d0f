import { createInterface } from 'node:readline'
import { openWarehousePool } from '../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { createPostgresTokenStore } from '../../src/pipeline/warehouse/tokens/token-store.ts'
import { scores } from './stream-by-name.ts'
import { testDivision } from './test-pool.ts'
import { ada, nightlyCall, openTestUpstream } from './test-upstream.ts'

/**
 * One process of the token renewal test. It writes `ready` when it is open; for each line it reads, which is a number, it makes
 * a number of calls at once and writes how they ended.
 */
const [url = '', databaseUrl = '', key = ''] = process.argv.slice(2)
const pool = openWarehousePool({ databaseUrl, division: testDivision, connectionsMax: 4, name: 'storm' })
const { upstream, close } = openTestUpstream({
  url,
  tokenStore: createPostgresTokenStore({ pool, keys: [Buffer.from(key, 'hex')] }),
})
await pool.query('select 1')
process.stdout.write('ready\n')

for await (const line of createInterface({ input: process.stdin })) {
  const outcomes = await Promise.allSettled(
    Array.from({ length: Number(line) }, () => upstream.read(scores, ada, nightlyCall)),
  )
  const words = outcomes.map((o) => (o.status === 'fulfilled' ? 'done' : `${o.reason.name}: ${o.reason.message}`))
  process.stdout.write(`${JSON.stringify(words)}\n`)
}
await close()
await pool.end()
