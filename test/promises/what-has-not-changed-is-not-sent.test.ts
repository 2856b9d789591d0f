import { expect } from 'vitest'
import { DAY } from '../../src/base/time/units.ts'
import { isReadOf, type Peer } from '../support/peer.ts'
import { daysAgo, daysAgoMs, scoreOf } from '../support/sample-scores.ts'
import { queueKinds, type TestPipeline, test } from '../support/test-pipeline.ts'

const range = { from: daysAgoMs(60), to: daysAgoMs(5), streams: ['scores', 'biomarkers'], again: true }
const scores = [45, 20, 18, 16].map((days) => scoreOf(days, days / 100))
const week = (value: string, from = 24, to = 18) => ({
  type: 'steps',
  category: 'activity',
  periodicity: 'weekly',
  aggregation: 'total',
  startDateTime: daysAgo(from),
  endDateTime: daysAgo(to),
  value,
})

/** How the reads since the last call were answered: with a tag or without, unchanged or whole. */
function readsOf(peer: Peer): () => { conditional: number; whole: number } {
  let from = 0
  return () => {
    const seen = peer.seen
      .slice(from)
      .filter((request) => isReadOf('scores')(request) || isReadOf('biomarkers')(request))
    from = peer.seen.length
    const conditional = seen.filter(({ ifNoneMatch }) => ifNoneMatch !== '').length
    return { conditional, whole: seen.length - conditional }
  }
}

async function again(line: TestPipeline, params: object = range) {
  const run = await line.tick('backfill', { ...params })
  await line.idle()
  return line.pipeline.runs.get(run.id)
}

const versionsOf = (line: TestPipeline) =>
  line.rows(
    'select xmin::text, ctid::text from vitalsync.scores union all select xmin::text, ctid::text from vitalsync.biomarkers',
  )

for (const queue of queueKinds) {
  test(`a window that has not changed is asked for by its tag, and covered again without a record (${queue})`, async ({
    open,
    peer,
  }) => {
    const line = await open(queue)
    await line.addProfiles('ada')
    peer.tags = true
    peer.give('ada', 'scores', scores)
    peer.give('ada', 'biomarkers', [week('1')])
    const reads = readsOf(peer)
    line.work()
    expect(await again(line)).toMatchObject({ requests: 4, unchanged: 0, rowsRead: 5 })
    expect(reads()).toEqual({ conditional: 0, whole: 4 })
    const places = await versionsOf(line)
    const [before] = await line.rows(`select covered::text from vitalsync.ledger where stream = 'scores'`)
    await line.rows(`update vitalsync.ledger set covered = '{}', read_at = '2020-01-01'`)

    expect(await again(line)).toMatchObject({ requests: 4, unchanged: 4, rowsRead: 0, rowsWritten: 0 })

    expect(reads()).toEqual({ conditional: 4, whole: 0 })
    expect(await versionsOf(line)).toEqual(places)
    expect(await line.rows(`select covered::text from vitalsync.ledger where stream = 'scores'`)).toEqual([before])
    expect(
      await line.rows(`select 1 from vitalsync.ledger where read_at = '2020-01-01' and stream = 'scores'`),
    ).toEqual([])

    // One window changes: it comes whole, and the other three by their tags.
    peer.give('ada', 'scores', [scoreOf(45, 0.9), ...scores.slice(1)])
    expect(await again(line)).toMatchObject({ requests: 4, unchanged: 3, rowsWritten: 1 })
    expect(await again(line)).toMatchObject({ requests: 4, unchanged: 4, rowsWritten: 0 })
  })
}

test('an upstream without tags is read whole, as ever', async ({ open, peer }) => {
  const line = await open('postgres')
  await line.addProfiles('ada')
  peer.give('ada', 'scores', scores)
  const reads = readsOf(peer)
  line.work()
  await again(line)
  await again(line)

  expect(reads()).toEqual({ conditional: 0, whole: 8 })
  expect(await line.rows('select 1 from vitalsync.reading_tags')).toEqual([])
  expect(await line.rows('select 1 from vitalsync.ledger where tagged')).toEqual([])
})

test('a nightly asks for its newest window as the night before, while upstream says that nothing has changed', async ({
  open,
  peer,
}) => {
  const line = await open('postgres')
  await line.addProfiles('ada')
  peer.tags = true
  peer.give('ada', 'scores', scores)
  line.work()
  const sync = async () => {
    const run = await line.tick('sync', { streams: ['scores'] })
    await line.idle()
    return line.pipeline.runs.get(run.id)
  }
  await sync()
  expect(await sync()).toMatchObject({ requests: 1, unchanged: 0 })
  expect(await sync()).toMatchObject({ requests: 1, unchanged: 1, rowsRead: 0 })

  const [night = [], next] = peer.asked('scores').slice(-2)
  expect(next).toEqual(night)
  expect(Date.parse(night[1] ?? '') % DAY).toBe(0)
  expect(Date.parse(night[2] ?? '') % DAY).toBe(0)
})

test('a record that the neighbouring window changed makes the tag of this window worthless', async ({ open, peer }) => {
  const line = await open('postgres')
  await line.addProfiles('ada')
  peer.tags = true
  const [early, late] = [
    { from: daysAgoMs(30), to: daysAgoMs(20), streams: ['biomarkers'], again: true },
    { from: daysAgoMs(20), to: daysAgoMs(10), streams: ['biomarkers'], again: true },
  ]
  const light = { ...week('7'), type: 'light' }
  const values = () => line.rows(`select value from vitalsync.biomarkers where type = 'steps'`)
  peer.give('ada', 'biomarkers', [week('1'), light])
  line.work()
  await again(line, early)
  // The record lies across both windows: the later window brings another value of it, and then upstream takes it back.
  peer.give('ada', 'biomarkers', [week('2'), light])
  await again(line, late)
  expect(await values()).toEqual([{ value: '2' }])
  peer.give('ada', 'biomarkers', [week('1'), light])

  expect(await again(line, early)).toMatchObject({ unchanged: 0, rowsWritten: 1 })
  expect(await values()).toEqual([{ value: '1' }])
})

test('no tag is kept of an answer that did not fit, is pending or is not believed', async ({ open, peer }) => {
  const line = await open('postgres')
  await line.addProfiles('ada')
  peer.tags = true
  const only = { ...range, streams: ['scores'] }
  const tags = async () => (await line.rows('select 1 from vitalsync.reading_tags')).length
  line.work()
  peer.give('ada', 'scores', [...scores, { type: 'sleep', scoreDateTime: 'soon' }])
  await again(line, only)
  // A record without an instant is given for each window.
  expect(await tags()).toBe(0)

  peer.give('ada', 'scores', scores)
  peer.headers = { 'derivation-state': 'pending' }
  await again(line, only)
  expect(await tags()).toBe(0)

  peer.headers = {}
  await again(line, only)
  expect(await tags()).toBe(2)

  // One answer is not believed, and its window is read whole until two agree.
  const { before } = peer
  let emptied = 0
  peer.before = (seen) => {
    if (!isReadOf('scores')(seen) || emptied > 0) return before(seen)
    emptied += 1
    return { status: 204, headers: { etag: '"empty"' } }
  }
  await again(line, only)
  expect(await line.rows(`select 1 from vitalsync.reading_tags where tag = '"empty"'`)).toEqual([])
  expect(await line.rows('select 1 from vitalsync.scores where gone_at is not null')).toEqual([])
})

test('an upstream whose 304 names another tag than it was asked about is read whole', async ({ open, peer }) => {
  const line = await open('postgres')
  await line.addProfiles('ada')
  peer.tags = true
  peer.give('ada', 'scores', scores)
  const only = { ...range, streams: ['scores'] }
  line.work()
  await again(line, only)
  const { before } = peer
  peer.before = (seen) =>
    isReadOf('scores')(seen) && seen.ifNoneMatch !== '' ? { status: 304, headers: { etag: '"other"' } } : before(seen)
  peer.give('ada', 'scores', [scoreOf(45, 0.9), ...scores.slice(1)])
  await line.rows(`update vitalsync.ledger set covered = '{}' where stream = 'scores'`)

  expect(await again(line, only)).toMatchObject({ requests: 4, unchanged: 0, rowsWritten: 1, failed: 0 })
  expect(await line.rows('select 1 from vitalsync.refusals')).toEqual([])
  expect(await line.rows(`select 1 from vitalsync.ledger where stream = 'scores' and covered <> '{}'`)).toHaveLength(1)
})

test('a record that was lost here, and one that is replayed from quarantine, are read whole', async ({
  open,
  peer,
}) => {
  const line = await open('postgres')
  await line.addProfiles('ada')
  peer.tags = true
  peer.give('ada', 'scores', scores)
  line.work()
  await again(line)
  await line.rows('delete from vitalsync.scores where value = 0.2')
  await line.rows(`update vitalsync.ledger set covered = '{}', tagged = false where stream = 'scores'`)

  expect(await again(line)).toMatchObject({ requests: 4, unchanged: 2, rowsWritten: 1 })
  expect(await again(line)).toMatchObject({ requests: 4, unchanged: 4 })
})
