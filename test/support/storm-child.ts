import { createInterface } from 'node:readline'
import { openPool } from '../../src/warehouse/pool.ts'
import { openTokenShelf } from '../../src/warehouse/tokens.ts'
import { scores } from './streams.ts'
import { ada, nightly, openTestUpstream } from './upstream.ts'

/**
 * One worker of the token storm, a process of its own. Says `ready` when open; for each line it then reads, a number of
 * calls, it makes so many at once and writes how they ended.
 */
const [url = '', databaseUrl = '', key = ''] = process.argv.slice(2)
const pool = openPool({ databaseUrl, connectionsMax: 4, name: 'storm' })
const { upstream, close } = openTestUpstream({ url, shelf: openTokenShelf({ pool, key: Buffer.from(key, 'hex') }) })
await pool.query('select 1')
process.stdout.write('ready\n')

for await (const line of createInterface({ input: process.stdin })) {
  const outcomes = await Promise.allSettled(
    Array.from({ length: Number(line) }, () => upstream.read(scores, ada, nightly)),
  )
  const words = outcomes.map((o) => (o.status === 'fulfilled' ? 'done' : `${o.reason.name}: ${o.reason.message}`))
  process.stdout.write(`${JSON.stringify(words)}\n`)
}
await close()
await pool.end()
