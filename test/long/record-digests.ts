import { createHash } from 'node:crypto'
import pg from 'pg'
import { pulledStreams } from '../../config/streams.ts'
import type { SyncedWarehouse } from './synced-warehouses.ts'

const PEOPLE_AT_ONCE = 200

/** Counts and digests of all records by stream, and of the names of the ledger's rows; the order of rows and ids does not matter. */
export async function digestOfRecords({ databaseUrl }: SyncedWarehouse): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const { rows: people } = await client.query<{ id: string; external_id: string }>(
      'select id, external_id from vitalsync.names order by external_id',
    )
    const tables = pulledStreams.map(({ table }) => [table, 'body'] as const)
    const parts: string[] = []
    for (const [table, column] of [...tables, ['ledger', 'stream'] as const]) {
      const hash = createHash('sha256')
      let count = 0
      for (let from = 0; from < people.length; from += PEOPLE_AT_ONCE) {
        const some = people.slice(from, from + PEOPLE_AT_ONCE)
        const nameOf = new Map(some.map(({ id, external_id }) => [id, external_id]))
        const { rows } = await client.query<{ profile_id: string; row: string }>(
          `select profile_id, ${column}::text as row from vitalsync.${table} where profile_id = any($1)`,
          [some.map(({ id }) => id)],
        )
        for (const line of rows.map(({ profile_id, row }) => `${nameOf.get(profile_id)} ${row}`).sort())
          hash.update(`${line}\n`)
        count += rows.length
      }
      parts.push(`${table} ${count} ${hash.digest('hex').slice(0, 12)}`)
    }
    return parts.join(', ')
  } finally {
    await client.end()
  }
}

/** How many records the streams have, all together. */
export async function countRecords({ databaseUrl }: SyncedWarehouse): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const counts = pulledStreams.map(({ table }) => `(select count(*) from vitalsync.${table})`)
  const { rows } = await client.query<{ count: string }>(`select ${counts.join(' + ')} as count`)
  await client.end()
  return Number(rows[0]?.count ?? 0)
}

/** The missing days of each person and stream. Instants differ, because the warehouses were synced one after the other. */
export async function gapsOf({ command }: SyncedWarehouse): Promise<string> {
  const { stdout } = await command('gaps', '--json')
  const lines = stdout.replaceAll(/\d\d:\d\d:\d\d\.\d+Z/g, '').split('\n')
  return lines.sort().join('\n')
}
