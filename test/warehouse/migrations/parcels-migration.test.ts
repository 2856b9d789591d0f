import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { expect } from 'vitest'
import { catalogue, pulledStreams } from '../../../config/streams.ts'
import { readMigrations } from '../../../src/engines/apply-migrations.ts'
import { itemsOf } from '../../../src/transfer/parcel.ts'
import { createOutbox } from '../../../src/warehouse/outbox/outbox.ts'
import { digestOf } from '../../../src/warehouse/postgres/text-digest.ts'
import { openWarehousePool } from '../../../src/warehouse/postgres/warehouse-pool.ts'
import { createQuarantine } from '../../../src/warehouse/quarantine/stored-quarantine.ts'
import { test } from '../../support/fixtures.ts'
import { testShards } from '../../support/test-shards.ts'

const folder = new URL('../../../src/warehouse/migrations/', import.meta.url)
const parcels = '0042-parcels.sql'
const at = Date.parse('2026-03-02T00:00:00Z')

const log = (key: string) => JSON.stringify({ id: key, note: 'é😀' })
const old = [
  { key: 'later', state: 'waiting', endAtMs: at + 2000 },
  { key: 'earlier', state: 'waiting', endAtMs: at + 1000 },
  { key: 'sent', state: 'sent', endAtMs: at },
  { key: 'refused', state: 'refused', endAtMs: at + 500 },
]

test('what waited, was sent or was refused before there were parcels is so afterwards', async ({ database }) => {
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  await client.query('create schema vitalsync')
  for (const { name } of (await readMigrations(folder)).filter(({ name }) => name < parcels)) {
    await client.query(await readFile(new URL(name, folder), 'utf8'))
  }
  await client.query(`insert into vitalsync.profiles (external_id, wanted_from) values ('ada', now())`)
  await client.query(`insert into vitalsync.ledger (profile_id, stream, pushed_to) values (1, 'data-logs', now())`)
  for (const { key, state, endAtMs } of old) {
    await client.query(
      `insert into vitalsync.outbox (profile_id, stream, item_key, body, digest, start_at, end_at, state)
       values (1, 'data-logs', $1, $2, $3, $4, $4, $5)`,
      [key, state === 'sent' ? null : log(key), digestOf(log(key)), new Date(endAtMs), state],
    )
  }
  await client.query(
    `insert into vitalsync.quarantine (profile_id, stream, direction, digest, path, reason, body, first_seen_at, last_seen_at)
     select profile_id, stream, 'push', digest, '', 'no', body, now(), now() from vitalsync.outbox where state = 'refused'`,
  )

  for (const { name } of (await readMigrations(folder)).filter(({ name }) => name >= parcels)) {
    await client.query(await readFile(new URL(name, folder), 'utf8'))
  }
  await client.end()

  const pool = openWarehousePool({ databaseUrl: database, bucketCount: testShards, connectionsMax: 2, name: 'test' })
  const outbox = createOutbox({ pool, catalogue, firstReadingMs: 0 })
  const waiting = async () =>
    (await outbox.readWaiting('1', 'data-logs')).parcels.flatMap(itemsOf).map(({ body }) => JSON.parse(body).id)
  expect(await waiting()).toEqual(['earlier', 'later'])
  const { rows } = await pool.query(`select checkpoint from warehouse.coverage where stream = 'data-logs'`)
  expect(rows).toEqual([{ checkpoint: new Date(at + 1000) }])
  const again = old.map(({ key, endAtMs }) => ({
    ...{ profileId: '1', stream: 'data-logs' as const, itemKey: key, body: log(key), startAtMs: at, endAtMs },
  }))
  expect(await outbox.add(again)).toEqual({ accepted: 0, duplicate: 4 })
  const changed = { ...again[0], body: '{"id":"later","value":7}' } as (typeof again)[number]
  expect(await outbox.add([changed])).toEqual({ accepted: 1, duplicate: 0 })
  await createQuarantine({ pool, streams: pulledStreams }).replay({ direction: 'push' })
  expect(await waiting()).toEqual(['refused', 'earlier', 'later'])
  await pool.end()
})
