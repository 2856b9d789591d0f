import { expect } from 'vitest'
import { DAY, SECOND } from '../../../../src/base/time/units.ts'
import { quarantineOf } from '../../../../src/operations/open-quarantine.ts'
import { findGaps } from '../../../../src/pipeline/ledger/coverage-gaps.ts'
import type { Reading } from '../../../../src/pipeline/transfer/reading.ts'
import { transaction } from '../../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { releaseMended } from '../../../../src/pipeline/warehouse/readings/invalid-records.ts'
import { causePageKey, readQuarantineGroups } from '../../../../src/pipeline/warehouse/reports/cause-groups.ts'
import { readKnownCoverage } from '../../../../src/pipeline/warehouse/reports/coverage-report.ts'
import { compareWithStored } from '../../../../src/pipeline/warehouse/verification/compare-records.ts'
import { countLockWaiters } from '../../../support/lock-waiters.ts'
import { biomarkers, scores } from '../../../support/stream-by-name.ts'
import { test as base, connect, march, marchMs, scoreRecord, scoresReading } from '../../../support/test-warehouse.ts'

const invalidOf = (raw: object) => ({ path: 'value', reason: 'Invalid input', raw: JSON.stringify(raw) })
const dated = invalidOf({ scoreDateTime: march(2), value: 'high' })
const undated = invalidOf({ value: 'low' })
const sound = [scoreRecord({ scoreDateTime: march(2) })]

const test = base.extend<{ story: { ada: string; read(more?: Partial<Reading>): Promise<unknown> } }>({
  /** A window of Ada whose reading held two records that do not fit, and further readings of it. */
  story: async ({ warehouse }, use) => {
    const [ada = ''] = await warehouse.addProfiles('ada')
    let sentAtMs = Date.now()
    const read = (more: Partial<Reading> = {}) => {
      sentAtMs = Math.max(Date.now(), sentAtMs + SECOND)
      return warehouse.writer.store({ ...scoresReading({ profileId: ada, sentAtMs, records: sound }), ...more })
    }
    await read({ invalid: [dated, undated] })
    await use({ ada, read })
  },
})

test('a record leaves the quarantine when a later reading of its window does not hold it in that form', async ({
  story,
  warehouse,
}) => {
  const left = async () =>
    (await warehouse.rows('select body from vitalsync.quarantine order by body')).map(({ body }) => body)
  const reasonsOfDays = () =>
    warehouse.rows(`select distinct reason from warehouse.days where stream = 'scores' and reason like '%did not fit%'`)
  const short = { startMs: marchMs(1) - DAY, endMs: marchMs(4) }

  expect(await reasonsOfDays()).toHaveLength(2)
  await story.read({ word: 'pending' })
  await story.read({ sentAtMs: Date.now() - 60 * SECOND })
  expect(await left(), 'no later word').toEqual([dated.raw, undated.raw])
  await story.read({ window: { startMs: marchMs(1), endMs: marchMs(4) } })
  expect(await left(), 'the day, from the noon before, is not whole in every offset').toEqual([dated.raw, undated.raw])
  await story.read({ window: short })
  expect(await left(), 'by its day').toEqual([undated.raw])
  await story.read({ invalid: [undated] })
  expect(await left(), 'it is still there').toEqual([undated.raw])
  expect(await warehouse.rows('select times from vitalsync.quarantine'), 'as the same record').toEqual([{ times: 2 }])
  await story.read()
  expect(await left(), 'by the window').toEqual([])
  expect(await reasonsOfDays()).toEqual([])
})

test.for<[string, Partial<Parameters<typeof releaseMended>[1][number]>]>([
  ['that is not believed', { believed: false }],
  ['that only says that nothing has changed', { unchanged: true }],
  ['while upstream derives', { word: 'pending' }],
  ['beside a newer one', { newer: [{ startMs: 0, endMs: 1, sentAtMs: 2, crossingHashes: [], reachesBack: false }] }],
])('a reading %s releases no record from the quarantine', async ([, more], { story, warehouse }) => {
  const reading = scoresReading({ profileId: story.ada, sentAtMs: Date.now() + DAY, records: [] })
  const whole = { ...reading, believed: true, newer: [] }
  const left = async () => (await warehouse.rows('select 1 from vitalsync.quarantine')).length

  await transaction(warehouse.pool, (tx) => releaseMended(tx, [{ ...whole, ...more }]))
  expect(await left()).toBe(2)
  await transaction(warehouse.pool, (tx) => releaseMended(tx, [whole]))
  expect(await left()).toBe(0)
})

test('a later reading releases the records of its own person and stream alone, though others have the same records', async ({
  story,
  warehouse,
}) => {
  const { pool, rows, addProfiles, writer } = warehouse
  const [bob = ''] = await addProfiles('bob')
  const sentAtMs = Date.now() + DAY
  const wholeOf = (profileId: string, stream = scores) => ({
    ...scoresReading({ profileId, stream, sentAtMs, records: [], invalid: [undated] }),
    ...{ believed: true, newer: [] },
  })
  const others = [wholeOf(story.ada, biomarkers), wholeOf(bob)]
  for (const other of others) await writer.store({ ...other, sentAtMs: Date.now() })
  const own = { ...wholeOf(story.ada), invalid: [] }
  const release = async (...readings: ReturnType<typeof wholeOf>[]) => {
    await transaction(pool, (tx) => releaseMended(tx, readings))
    const left = await rows('select profile_id, stream from vitalsync.quarantine order by stream, profile_id')
    return left.map(({ profile_id, stream }) => [profile_id, stream])
  }
  const ofOthers = others.map(({ profileId, stream }) => [profileId, stream.name])
  await rows('update vitalsync.quarantine set last_seen_at = $1', [new Date(sentAtMs)])
  expect(await release(own), 'no later reading').toHaveLength(4)
  await rows(`update vitalsync.quarantine set last_seen_at = last_seen_at - interval '1 second'`)

  expect(await release(own, ...others)).toEqual(ofOthers)
  expect(await release(own)).toEqual(ofOthers)
})

test('after a replay gaps and days say that the span is read again, not that nothing has asked for it', async ({
  story,
  warehouse,
}) => {
  const { pool } = warehouse
  const gaps = async () => {
    const [known] = await readKnownCoverage({ pool, streams: [scores] }, { afterId: '0', limit: 1 })
    return known ? findGaps(known).filter(({ endMs, startMs }) => startMs < marchMs(5) && endMs > marchMs(1)) : []
  }
  const days = () =>
    warehouse.rows(`select state from warehouse.days where local_date = '2026-03-03' and stream = 'scores'`)
  expect(await gaps()).toEqual([])

  const replayed = await quarantineOf(pool).replay({})

  expect(replayed).toEqual({ pushed: 0, stored: 0, reread: 2 })
  expect((await gaps()).map(({ reason }) => reason)).toEqual(['waiting'])
  expect(await days()).toEqual([{ state: 'unsettled' }])
  await story.read({ word: 'finished', generation: 1 })
  expect(await gaps()).toEqual([])
  expect(await days()).toEqual([{ state: 'empty' }])
})

test('every record counts for its cause, whose records come in pages by key and are replayed or discarded together', async ({
  warehouse,
}) => {
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  const { pool, rows } = warehouse
  const quarantine = quarantineOf(pool)
  const add = (profileId: string, reason: string, count: number) =>
    rows(
      `insert into vitalsync.quarantine (profile_id, stream, direction, digest, path, reason, body, first_seen_at, last_seen_at)
       select $1, 'scores', 'pull', sha256(($2 || n)::bytea), 'value', $2, '{}', now(), now() from generate_series(1, $3) n`,
      [profileId, reason, count],
    )
  await add(ada, 'too large', 700)
  await add(bob, 'too large', 2)
  await add(bob, 'too small', 1)

  const { groups, ...rest } = await readQuarantineGroups(pool)
  expect(rest).toEqual({ nextBefore: null, causes: 2, total: 703 })
  expect(groups.map(({ reason, count, profiles }) => [reason, count, profiles])).toEqual([
    ['too large', 702, 2],
    ['too small', 1, 1],
  ])
  const cause = groups[0]?.cause ?? ''
  const seen: string[] = []
  for (let beforeId: string | undefined; ; ) {
    const page = await quarantine.listPage({ cause, beforeId }, 300)
    seen.push(...page.map(({ id }) => id))
    if (page.length < 300) break
    beforeId = page.at(-1)?.id
  }
  expect([seen.length, new Set(seen).size]).toEqual([702, 702])
  expect(seen).toEqual(seen.toSorted((a, b) => Number(b) - Number(a)))

  expect(await quarantine.replay({ cause })).toEqual({ pushed: 0, stored: 0, reread: 702 })
  expect((await readQuarantineGroups(pool)).groups.map(({ reason }) => reason)).toEqual(['too small'])
  await add(ada, 'too large', 700)
  await add(bob, 'too large', 2)
  const ledger = await rows('select * from vitalsync.ledger order by profile_id, stream')
  expect(await quarantine.discard({ cause })).toBe(702)
  expect((await readQuarantineGroups(pool)).groups.map(({ reason }) => reason)).toEqual(['too small'])
  expect(await rows('select * from vitalsync.ledger order by profile_id, stream'), 'nothing is asked for').toEqual(
    ledger,
  )
})

test('causes come in pages by key, also those of equal counts, and each page counts them all', async ({
  warehouse,
}) => {
  const [ada] = await warehouse.addProfiles('ada')
  const { pool, rows } = warehouse
  await rows(
    `insert into vitalsync.quarantine (profile_id, stream, direction, digest, path, reason, body, first_seen_at, last_seen_at)
     select $1, 'scores', 'pull', sha256((c || '-' || n)::text::bytea), 'value', 'reason ' || c, '{}', now(), now()
     from generate_series(1, 7) c, generate_series(1, case when c < 3 then 2 else 1 end) n`,
    [ada],
  )
  const pages: string[][] = []
  for (let before: string | undefined; ; ) {
    const { groups, nextBefore, causes, total } = await readQuarantineGroups(pool, before, 3)
    expect({ causes, total }).toEqual({ causes: 7, total: 9 })
    pages.push(groups.map(({ reason }) => reason))
    if (nextBefore === null) break
    expect(nextBefore).toMatch(causePageKey)
    before = nextBefore
  }

  expect(pages.map(({ length }) => length)).toEqual([3, 3, 1])
  expect(new Set(pages.flat()).size).toBe(7)
  expect(pages[0]?.slice(0, 2).toSorted()).toEqual(['reason 1', 'reason 2'])
})

test('a record of a time that no sweep reads for long is quarantined, and a replay reads again where it came from', async ({
  warehouse,
}) => {
  const { pool, rows } = warehouse
  const [ada = ''] = await warehouse.addProfiles('ada')
  const sentAtMs = Date.now()
  const startAt = (ms: number) => scoreRecord({ scoreDateTime: new Date(sentAtMs + ms).toISOString() })
  const within = startAt(2 * DAY)
  const beyond = startAt(2 * DAY + 1)
  const reading = scoresReading({ profileId: ada, sentAtMs, records: [...sound, within, beyond, startAt(365 * DAY)] })
  const stored = 'select body from vitalsync.scores order by score_date_time'
  const quarantined = 'select path, reason from vitalsync.quarantine'

  expect(await warehouse.writer.store(reading)).toMatchObject({ written: 2, invalid: 2 })
  expect((await rows(stored)).map(({ body }) => body)).toEqual(
    [...sound, within].map((record) => JSON.stringify(record)),
  )
  expect(await rows(`${quarantined} limit 1`)).toEqual([
    { path: 'scoreDateTime', reason: 'more than two days after its window, and in the future' },
  ])
  const covered = { ...reading, externalId: 'ada' }
  expect(await compareWithStored(pool, covered, reading)).toEqual({ records: 2, unreadable: 2, differences: [] })

  await quarantineOf(pool).replay({})
  expect(await warehouse.covered(ada, 'scores')).toBe('{}')
  // In a window that lies in the future a record may do so too.
  const window = { startMs: sentAtMs, endMs: sentAtMs + 365 * DAY }
  await warehouse.writer.store({ ...reading, sentAtMs: sentAtMs + SECOND, generation: 1, window })
  expect(await rows(quarantined)).toEqual([])
  expect(await rows(stored)).toHaveLength(4)
})

test('a record that fits by the present rules is stored by a replay, with no request and no change of what is covered', async ({
  story,
  warehouse,
}) => {
  const { pool } = warehouse
  const covered = () =>
    warehouse.rows('select covered::text, generation, rereads from vitalsync.ledger order by stream')
  const bodies = () =>
    warehouse.rows('select body from vitalsync.scores where gone_at is null order by score_date_time')
  const refused = (day: number, value: number) => ({
    ...invalidOf(scoreRecord({ scoreDateTime: march(day), value })),
    reason: 'by former rules',
  })
  const [fits, clash] = [refused(3, 0.5), refused(2, 0.4)]
  await story.read({ invalid: [fits, clash, undated] })
  const [before, stored] = [await covered(), await bodies()]
  const quarantine = quarantineOf(pool)

  const listed = await warehouse.rows('select id::text as id from vitalsync.quarantine where body = $1', [fits.raw])
  const ids = listed.map(({ id }) => String(id))

  expect(await quarantine.replay({ ids })).toEqual({ pushed: 0, stored: 1, reread: 0 })
  expect(await bodies()).toEqual([...stored, { body: fits.raw }])
  expect(await covered()).toEqual(before)

  const asked = { pushed: 0, stored: 0, reread: 2 }
  expect(await quarantine.replay({}), 'of one another form is stored, one still does not fit').toEqual(asked)
  expect(await bodies()).toHaveLength(stored.length + 1)
})

test('a record in another unit that a replay stores is counted, and its day is suspicious until it is read again', async ({
  story,
  warehouse,
}) => {
  const { pool, rows } = warehouse
  await warehouse.addProfiles('bob')
  const inUnit = (day: number, unit: string) => invalidOf(scoreRecord({ scoreDateTime: march(day), unit }))
  await story.read({ invalid: [inUnit(3, 'percent'), inUnit(4, 'index'), inUnit(2, 'percent')] })
  const stateOf = (day: number) =>
    rows(
      `select state, settled, reason from warehouse.days where external_id = 'ada' and local_date = $1 and stream = 'scores'`,
      [march(day).slice(0, 10)],
    )

  // Neither is the acceptance of the unit.
  await rows(
    `insert into vitalsync.drift (stream, what, path, detail, accepted_at) values
     ('scores', 'unit', 'unit', $1, null), ('scores', 'extra', 'unit', $1, now())`,
    ['sleep in percent, not index'],
  )

  expect(await quarantineOf(pool).replay({})).toMatchObject({ stored: 2 })

  expect(await rows('select profile_id, stream from vitalsync.ledger where unit_doubts is not null')).toEqual([
    { profile_id: story.ada, stream: 'scores' },
  ])
  expect(await stateOf(3)).toEqual([{ state: 'data', settled: false, reason: expect.stringMatching(/^suspicious: /) }])
  expect(await stateOf(4)).toEqual([{ state: 'data', settled: false, reason: 'it may still change' }])
  expect(
    await rows(`select path, detail, records, local_date::text from vitalsync.drift_people where what = 'unit'`),
  ).toEqual([{ path: 'unit', detail: 'sleep in percent, not index', records: 1, local_date: '2026-03-03' }])
})

test('a replay that waits for a reading holds nothing that the reading needs', async ({
  story,
  warehouse,
  warehouseUrl,
}) => {
  const reading = await connect(warehouseUrl)
  await reading.query('begin')
  await reading.query('select from vitalsync.ledger where profile_id = $1 for update', [story.ada])
  const replaying = quarantineOf(warehouse.pool).replay({})
  await expect.poll(() => countLockWaiters(warehouse.rows)).toBe(1)

  await reading.query('select from vitalsync.quarantine for update nowait')
  await reading.query('delete from vitalsync.quarantine where body = $1', [undated.raw])
  await reading.query('commit')
  await reading.end()

  expect(await replaying).toEqual({ pushed: 0, stored: 0, reread: 1 })
})
