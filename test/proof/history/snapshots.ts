import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import type { People } from './app.ts'
import type { History } from './history.ts'
import { readStored } from './witness.ts'

type SnapshotOptions = {
  readonly databaseUrl: string
  readonly people: People
  readonly history: History
  readonly signal: AbortSignal
}

const SNAPSHOT_EVERY_MS = 700

/** Looks at one person after the other until aborted. While Postgres is away there is nothing to see. */
export async function takeSnapshots({ databaseUrl, people, history, signal }: SnapshotOptions): Promise<void> {
  for (let turn = 0; !signal.aborted; turn += 1) {
    await wait(SNAPSHOT_EVERY_MS)
    const names = [...people.living]
    const profile = names[turn % names.length]
    if (profile === undefined) continue
    const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5000 })
    client.on('error', () => undefined)
    try {
      await client.connect()
      const { rows } = await client.query('select id::text from vitalsync.names where external_id = $1', [profile])
      const atMs = Date.now()
      const stored = rows[0] ? await readStored(client, rows[0].id) : []
      for (const stream of stored) history.add({ kind: 'snapshot', profile, atMs, ...stream })
      await client.end()
    } catch {
      client.end().catch(() => undefined)
    }
  }
}
