import { expect, test } from 'vitest'
import { currentOrigin } from '../../../../src/base/monitoring/traced-work.ts'
import { DAY, HOUR } from '../../../../src/base/time/units.ts'
import type { AwaitingPart } from '../../../../src/pipeline/ledger/awaiting-upstream.ts'
import type { PulledStream } from '../../../../src/pipeline/transfer/stream.ts'
import { requestHashOf } from '../../../../src/pipeline/transfer/tagged-window.ts'
import { createDivision } from '../../../../src/pipeline/warehouse/divided/division.ts'
import { type LockedLedgerRow, profileStreamKey } from '../../../../src/pipeline/warehouse/ledger/ledger-rows.ts'
import { heldTagOf, type PlannedTag } from '../../../../src/pipeline/warehouse/ledger/reading-tags.ts'
import { NO_DRIFT } from '../../../../src/pipeline/warehouse/readings/reading-drift.ts'
import { ReadingQueue } from '../../../../src/pipeline/warehouse/readings/reading-queue.ts'
import {
  type ChangeSummary,
  type StreamChanges,
  summarizeChanges,
} from '../../../../src/pipeline/warehouse/readings/record-changes.ts'
import {
  type AdmittedReading,
  latestStartMsOf,
  type PreparedReading,
  type RecordRow,
  toRecordRows,
} from '../../../../src/pipeline/warehouse/readings/record-rows.ts'
import { settleReadings } from '../../../../src/pipeline/warehouse/readings/settle-readings.ts'
import { tagChangesOf } from '../../../../src/pipeline/warehouse/readings/tag-changes.ts'
import { biomarkers, demographics, scores } from '../../../support/stream-by-name.ts'

const DAY_0 = Date.parse('2026-03-01T00:00:00Z')
const dayMs = (day: number) => DAY_0 + day * DAY
const span = (from: number, to: number) => ({ startMs: dayMs(from), endMs: dayMs(to) })

const rowOf = (from: number, to: number): RecordRow => ({
  ...{ cells: [], key: `${from}`, localDateMs: null, raw: '{}', digest: '12345678' },
  startMicros: dayMs(from) * 1000,
  endMicros: dayMs(to) * 1000,
})

/** A reading of the days 10 to 20, sent on day 30. */
const admitted = (fields: Partial<AdmittedReading> = {}): AdmittedReading => ({
  kind: 'admitted',
  profileId: '1',
  stream: biomarkers,
  window: span(10, 20),
  generation: 0,
  sentAtMs: dayMs(30),
  serverAtMs: undefined,
  word: undefined,
  tag: '"a"',
  unchanged: false,
  invalid: [],
  rows: [],
  drift: NO_DRIFT,
  newer: [],
  recent: [],
  complete: true,
  mayCover: true,
  believed: true,
  reachBackToMs: dayMs(10),
  heldByNewer: [],
  edges: { crossingHashes: [], reachesBack: false },
  ...fields,
})

const ledgerRow = (fields: Partial<LockedLedgerRow> = {}): LockedLedgerRow => ({
  ...{
    generation: 0,
    awaiting: [],
    recent: [],
    unread: false,
    tagged: true,
    falseTags: false,
    suspicions: [],
    unitDoubts: [],
  },
  explained: false,
  readAtMs: dayMs(29),
  coveredBefore: [],
  measuredSettleMs: null,
  ...fields,
})

const ledgerOf = (reading: AdmittedReading, row: LockedLedgerRow) => new Map([[profileStreamKey(reading), row]])

const noChanges = (stream: PulledStream): StreamChanges => ({
  ...{ stream, added: [], changed: [], vanished: [], suspicious: [] },
})

function tagChange(reading: AdmittedReading, fields: Partial<StreamChanges> = {}, row: Partial<LockedLedgerRow> = {}) {
  const changes = [{ ...noChanges(reading.stream), ...fields }]
  return tagChangesOf({ admitted: [reading], changes }, ledgerOf(reading, ledgerRow(row)))[0]
}

test('a tag is kept of an answer that the stored records are equal to', () => {
  expect(tagChange(admitted())).toMatchObject({ tag: '"a"', isFirst: false })
  expect(tagChange(admitted(), {}, { tagged: false })).toMatchObject({ tag: '"a"', isFirst: true })
})

test.each<[string, Partial<AdmittedReading>, Partial<LockedLedgerRow>]>([
  ['lacks records that are kept', { complete: false }, {}],
  ['was planned before the last push', { mayCover: false }, {}],
  ['is not believed yet', { believed: false }, {}],
  ['a newer reading overlaps', { newer: [{ ...span(15, 25), sentAtMs: dayMs(31), ...admitted().edges }] }, {}],
  ['comes from an upstream whose tags were false', {}, { falseTags: true }],
])('no tag is kept of an answer that %s', (_, reading, row) => {
  expect(tagChange(admitted(reading), {}, row)).toMatchObject({ tag: undefined })
})

test('a held tag is sent for its own stream, window and request alone', () => {
  const window = span(10, 20)
  const hash = requestHashOf(scores, window)
  const held = (...tag: PlannedTag) => heldTagOf([tag], scores, window)

  expect(held('scores', window.startMs, window.endMs, '"a"', hash)).toBe('"a"')
  expect(held('scores', window.startMs, window.endMs, '"a"', hash + 1)).toBeUndefined()
  expect(held('scores', window.startMs, window.endMs + 1, '"a"', hash)).toBeUndefined()
  expect(held('trends', window.startMs, window.endMs, '"a"', hash)).toBeUndefined()
})

test('an unchanged answer, and one without a tag where none is kept, change no tag', () => {
  expect(tagChange(admitted({ unchanged: true }))).toBeUndefined()
  expect(tagChange(admitted({ tag: undefined }), {}, { tagged: false })).toBeUndefined()
  expect(tagChange(admitted({ tag: undefined }))).toMatchObject({ tag: undefined, touched: undefined })
})

test('the tags of windows are dropped that touch a record of a reading, in its present or its former extent', () => {
  const reading = admitted({ reachBackToMs: dayMs(2) })
  const record = (from: number, to: number) => ({ row: rowOf(from, to), reading })
  const touchedBy = (fields: Partial<StreamChanges>, by = reading) => tagChange(by, fields)?.touched

  expect(touchedBy({ added: [record(12, 13)] })).toEqual(span(12, 13))
  expect(touchedBy({ added: [record(12, 13), record(18, 19)] })).toEqual(span(12, 19))
  // A biomarker lasts eight days at most: the former version may have ended as late.
  expect(touchedBy({ changed: [record(12, 13)] })).toEqual(span(12, 20))
  expect(touchedBy({ changed: [record(12, 22)] })).toEqual(span(12, 22))
  expect(touchedBy({ added: [record(18, 26)], vanished: [{ profileId: '1', endMs: dayMs(12) }] })).toEqual(span(2, 26))
  expect(touchedBy({ vanished: [{ profileId: '2', endMs: dayMs(12) }] })).toBeUndefined()
  expect(touchedBy({}, { ...reading, believed: false })).toEqual(span(2, 20))
  expect(touchedBy({ added: [record(12, 13)] }, { ...reading, stream: demographics })).toBeUndefined()
})

const settings = { minMs: 6 * HOUR, maxMs: 240 * HOUR, intervalsMs: [HOUR] }

function settle(reading: AdmittedReading, changes: ChangeSummary, row: Partial<LockedLedgerRow> = {}) {
  const key = profileStreamKey(reading)
  const ledger = new Map([[key, ledgerRow(row)]])
  const summaries = new Map([[key, changes]])
  const settled = settleReadings([reading], { ledger, summaries, suspiciousUnits: new Map(), settle: settings })
  const [entry] = settled.settled
  if (!entry) throw new Error('a reading without an entry')
  return { ...settled, entry }
}

/** Touched by a push on day 11 and read once since, on day 25. */
const oncePushed: AwaitingPart = { ...span(11, 14), touchedAtMs: dayMs(11), readAtMs: dayMs(25), readings: 1 }

test('a second reading settles what was pushed only if the earliest of all changes came after it had to settle', () => {
  const left = (changes: ChangeSummary) => settle(admitted(), changes, { awaiting: [oncePushed] }).entry.awaiting
  const began = [{ ...oncePushed, readAtMs: dayMs(30) }]

  expect(left({ came: [], changed: [] })).toEqual([])
  for (const changes of [
    { came: [dayMs(12)], changed: [] },
    { came: [], changed: [dayMs(12)] },
    { came: [dayMs(30), dayMs(12)], changed: [dayMs(30)] },
    { came: [dayMs(30)], changed: [dayMs(12), dayMs(30)] },
  ])
    expect(left(changes), JSON.stringify(changes)).toEqual(began)
  expect(left({ came: [dayMs(30)], changed: [dayMs(30)] })).toEqual([])
})

test('a record that a snapshot lacks has changed before everything that has settled', () => {
  const vanished = [{ profileId: '1', endMs: null }]
  const [changes] = summarizeChanges([{ ...noChanges(demographics), vanished }]).values()

  expect(changes).toEqual({ came: [], changed: [Number.NEGATIVE_INFINITY] })
})

test('a key of two hundred characters, and a start two days after window and request, are the last that are stored', () => {
  const record = (type: string, atMs: number) => {
    const fields = { type, scoreDateTime: new Date(atMs).toISOString() }
    return { raw: JSON.stringify(fields), fields }
  }
  const latestMs = dayMs(32)
  const isStored = (type: string, atMs: number) =>
    toRecordRows(scores, [record(type, atMs)], latestMs).rows.length === 1

  expect(latestStartMsOf({ window: span(10, 20), sentAtMs: dayMs(30) })).toBe(latestMs)
  expect(latestStartMsOf({ window: span(10, 30), sentAtMs: dayMs(20) })).toBe(latestMs)
  expect([isStored('x'.repeat(200), dayMs(1)), isStored('x'.repeat(201), dayMs(1))]).toEqual([true, false])
  expect([isStored('sleep', latestMs), isStored('sleep', latestMs + 1)]).toEqual([true, false])
})

test('a record of a covered day that changed makes the day due again, suspect, and a silent difference', () => {
  const changes = { came: [dayMs(12)], changed: [dayMs(15), dayMs(13)] }
  const { entry, silent } = settle(admitted(), changes, { coveredBefore: [span(0, 30)] })

  expect(silent).toEqual([{ profileId: '1', stream: biomarkers, foundAtMs: dayMs(30), records: 3, lateMs: 18 * DAY }])
  const holds = (spans: readonly { startMs: number; endMs: number }[], ms: number) =>
    spans.some(({ startMs, endMs }) => startMs <= ms && ms < endMs)
  for (const day of [12, 13, 15]) expect(holds(entry.uncovers, dayMs(day)), `day ${day}`).toBe(true)
  const suspect = entry.awaiting.filter((part) => part.isSuspect)
  for (const day of [12, 13, 15]) expect(holds(suspect, dayMs(day)), `day ${day}`).toBe(true)
})

test.each<[string, Partial<AdmittedReading>, Partial<LockedLedgerRow>]>([
  ['a day that was not covered', {}, { coveredBefore: [span(0, 11)] }],
  ['a first reading', {}, { readAtMs: null, coveredBefore: [span(0, 30)] }],
  ['a reading that may not speak for its window', { complete: false }, { coveredBefore: [span(0, 30)] }],
  ['a snapshot', { stream: demographics }, { coveredBefore: [span(0, 30)] }],
])('%s makes no silent difference', (_, reading, row) => {
  expect(settle(admitted(reading), { came: [], changed: [dayMs(12)] }, row).silent).toEqual([])
})

test('the evidence about lateness is counted by stream, of complete readings after the first', () => {
  const seenBy = (reading: Partial<AdmittedReading>, row: Partial<LockedLedgerRow> = {}) => {
    const { lateness } = settle(admitted({ rows: [rowOf(18, 19)], ...reading }), { came: [], changed: [] }, row)
    return [...lateness].map(([{ name }, { seen }]) => [name, seen.some((count) => count > 0)])
  }

  expect(seenBy({}, { coveredBefore: [span(0, 30)] })).toEqual([['biomarkers', true]])
  expect(seenBy({ complete: false })).toEqual([])
  expect(seenBy({}, { readAtMs: null })).toEqual([])
  expect(seenBy({ stream: demographics })).toEqual([])
})

const division = createDivision(2)
const withKey = (key: number) =>
  Array.from({ length: 40 }, (_, index) => String(index + 1)).filter((id) => division.keyOf(id) === key)

function queueOf(readings: readonly (readonly [profileId: string, rows: number, stream?: PulledStream])[]) {
  const queue = new ReadingQueue(division)
  for (const [profileId, rows, stream = scores] of readings) {
    const reading: PreparedReading = {
      ...admitted({ profileId, stream }),
      rows: Array.from({ length: rows }, () => rowOf(12, 13)),
    }
    void queue.add(reading, currentOrigin())
  }
  return { queue, take: () => queue.takeGroup() }
}

const namesOf = (group: ReturnType<ReadingQueue['takeGroup']>) =>
  group.map(({ reading }) => `${reading.profileId} ${reading.stream.name}`)

test('a group has at most one reading of a ledger row, and the next one waits until the first is committed', () => {
  const [ada = '', ben = ''] = withKey(0)
  const { queue, take } = queueOf([
    [ada, 1],
    [ada, 1],
    [ada, 1, biomarkers],
    [ben, 1],
  ])

  const first = take()
  expect(namesOf(first)).toEqual([`${ada} scores`, `${ada} biomarkers`, `${ben} scores`])
  expect(take()).toEqual([])
  expect(queue.isEmpty).toBe(false)
  queue.unlock(first)

  expect(namesOf(take())).toEqual([`${ada} scores`])
  expect(queue.isEmpty).toBe(true)
})

test('a group is of profiles that one transaction may name, those of the first first', () => {
  const [[ada = '', ben = ''], [cleo = '', dan = '']] = [withKey(0), withKey(1)]
  const { take } = queueOf([ada, cleo, ben, dan].map((id) => [id, 1] as const))

  expect(take().map(({ reading }) => reading.profileId)).toEqual([ada, ben])
  expect(take().map(({ reading }) => reading.profileId)).toEqual([cleo, dan])
})

test('a group takes readings up to five thousand rows, and a larger reading alone', () => {
  const ids = withKey(0)
  const sizesOf = (sizes: readonly number[]) => {
    const { queue, take } = queueOf(sizes.map((rows, index) => [ids[index] ?? '', rows] as const))
    const groups: number[][] = []
    while (!queue.isEmpty && groups.length < 9) {
      expect(queue.rowCount).toBe(sizes.reduce((sum, rows) => sum + rows, 0) - groups.flat().reduce((a, b) => a + b, 0))
      groups.push(take().map(({ reading }) => reading.rows.length))
    }
    return groups
  }

  expect(sizesOf([6000, 10])).toEqual([[6000], [10]])
  expect(sizesOf([10, 6000, 20])).toEqual([[10, 20], [6000]])
  expect(sizesOf([4000, 1000, 1])).toEqual([[4000, 1000], [1]])
})
