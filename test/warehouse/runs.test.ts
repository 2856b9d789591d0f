import { expect } from 'vitest'
import { test } from '../support/warehouse.ts'

const slot = new Date('2026-03-02T03:00:00Z')
const nothing = { done: 0, failed: 0, refused: 0, requests: 0, rowsRead: 0, rowsWritten: 0, itemsPushed: 0 }

test('a slot is taken once, however many schedulers reach for it', async ({ warehouse }) => {
  const { runs } = warehouse

  const taken = await Promise.all(Array.from({ length: 8 }, () => runs.claimSlot('nightly', slot)))

  expect(taken.filter((run) => run !== undefined)).toHaveLength(1)
  expect(await runs.claimSlot('sweep', slot)).toBeDefined()
  expect(await runs.lastSlot('nightly')).toEqual(slot)
  expect(await warehouse.rows('select kind, state from warehouse.runs order by kind')).toEqual([
    { kind: 'nightly', state: 'running' },
    { kind: 'sweep', state: 'running' },
  ])
})

test('a run ends when all of its jobs have', async ({ warehouse }) => {
  const { runs } = warehouse
  const run = await runs.start('sync', {})

  await runs.produced(run.id, { afterId: '5', enqueued: 2, all: false })
  await runs.count(run.id, { ...nothing, done: 2 })
  expect((await runs.get(run.id))?.state).toBe('running')
  await runs.produced(run.id, { afterId: '9', enqueued: 1, all: true })
  expect((await runs.get(run.id))?.state).toBe('running')
  await runs.count(run.id, { ...nothing, failed: 1, rowsRead: 7 })

  expect(await runs.get(run.id)).toMatchObject({ state: 'done', enqueued: 3, done: 2, failed: 1, rowsRead: 7 })
})

test('a run whose producer died is found, with the page it had reached', async ({ warehouse }) => {
  const { runs, rows } = warehouse
  const run = await runs.start('sync', {})
  await runs.produced(run.id, { afterId: '5', enqueued: 2, all: false })

  expect(await runs.unproduced(60_000)).toEqual([])
  await rows(`update vitalsync.runs set touched_at = touched_at - interval '2 minutes'`)

  expect(await runs.unproduced(60_000)).toMatchObject([{ id: run.id, afterId: '5' }])
})

test('a silent run is opened again once, counting only what was really done', async ({ warehouse }) => {
  const { runs, rows } = warehouse
  const run = await runs.start('nightly', {})
  await runs.produced(run.id, { afterId: '5', enqueued: 5, all: true })
  await runs.count(run.id, { ...nothing, done: 2 })
  await rows(`update vitalsync.runs set touched_at = touched_at - interval '2 minutes'`)

  expect(await runs.silent(60_000)).toMatchObject([{ id: run.id }])
  expect(await runs.reopen(run.id)).toBe(true)
  expect(await runs.unproduced(60_000)).toMatchObject([{ id: run.id, afterId: '0', enqueued: 2 }])
  expect(await runs.reopen(run.id)).toBe(false)
})
