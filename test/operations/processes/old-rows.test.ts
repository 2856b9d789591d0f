import { expect } from 'vitest'
import { soon } from '../../support/fixtures.ts'
import { test } from '../../support/test-pipeline.ts'

test('a worker deletes old rows when it starts, also where some of them cannot be deleted', async ({ open }) => {
  const line = await open('postgres')
  await line.rows(
    `create function refuse() returns trigger language plpgsql as $$ begin raise 'refused' using errcode = '53100'; end $$`,
  )
  await line.rows('create trigger refuse before delete on vitalsync.runs for each statement execute function refuse()')
  await line.rows(
    `insert into vitalsync.runs (kind, state, ended_at) values ('sync', 'done', now() - interval '91 days')`,
  )
  await line.rows(
    `insert into vitalsync.audit (who, role, action, at) values ('old', '', '', now() - interval '401 days')`,
  )

  line.work()

  await expect.poll(() => line.rows('select who from vitalsync.audit'), soon).toEqual([])
  await expect.poll(line.logged, soon).toContain('"rows":"the audit","deleted":1')
  expect(await line.rows('select kind from vitalsync.runs')).toEqual([{ kind: 'sync' }])
  const refused = line
    .logged()
    .split('\n')
    .filter((text) => text.includes('old rows could not be deleted'))
  expect(refused.map((text) => JSON.parse(text))).toMatchObject([
    { level: 40, rows: 'runs that ended, with their slots and orders', err: 'Postgres: its disk is full (53100)' },
  ])
})
