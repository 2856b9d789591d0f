import { catalogue, pulledStreams, pushedStreams } from '../../config/streams.ts'
import { checkedInstant } from '../../src/base/time/instant.ts'
import { dayNumberFromText } from '../../src/base/time/local-time.ts'
import { DAY, HOUR } from '../../src/base/time/units.ts'
import { toItem } from '../../src/intake/outbox-items.ts'
import type { OutboxItem } from '../../src/pipeline/transfer/parcel.ts'
import type { DueWindow } from '../../src/pipeline/transfer/reading.ts'
import { createLedger } from '../../src/pipeline/warehouse/ledger/coverage-ledger.ts'
import { createOutbox } from '../../src/pipeline/warehouse/outbox/outbox.ts'
import type { Pool } from '../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { createProfiles } from '../../src/pipeline/warehouse/profiles/stored-profiles.ts'
import { openReadingWriter, type ReadingWriter } from '../../src/pipeline/warehouse/readings/reading-writer.ts'
import { localDateTextOf } from '../../src/pipeline/warehouse/readings/record-rows.ts'
import type { PlannedPerson } from '../../src/service/sandbox/people/planned-people.ts'
import type { SampleLog } from '../../src/service/sandbox/people/sample-logs.ts'
import { derive } from '../service/derive/derive-at-once.ts'

/** The streams that are read: whose empty days have causes. */
const streams = pulledStreams.filter(({ name }) => name === 'scores' || name === 'biomarkers')

/** Each day is read at this time, after the uploads of the morning. */
const READ_AT_MS = 10 * HOUR

type UpstreamRecord = {
  readonly day: number
  readonly startMs: number
  readonly raw: string
  readonly fields: Record<string, unknown>
}
type Played = {
  readonly person: PlannedPerson
  readonly profileId: string
  readonly records: ReadonlyMap<string, readonly UpstreamRecord[]>
}

/**
 * Plays the days of planned people on the real warehouse: every morning what their phones hand in goes through the outbox and counts as
 * pushed, then all that is due is read. Upstream is the real derivation of what it has by then.
 */
export async function playPlannedPeople(pool: Pool, people: readonly PlannedPerson[]): Promise<void> {
  const clock = { nowMs: 0 }
  const now = () => clock.nowMs
  const outbox = createOutbox({ pool, catalogue, firstReadingMs: 0, now })
  const ledger = createLedger({ pool, catalogue, firstReadingMs: 0 })
  const settle = { minMs: 72 * HOUR, maxMs: 72 * HOUR, intervalsMs: [0, 0, DAY] }
  const belief = { goneShareMax: 1, spacingMs: 0 }
  const writer = openReadingWriter({
    pool,
    now,
    rowsPerCommit: 1000,
    commitsAtOnce: 2,
    belief,
    settle,
    account: 'test',
  })
  const played = await addPeople(pool, people)
  const days = people[0]?.days ?? []
  const [first, last] = [days[0]?.day ?? 0, days.at(-1)?.day ?? 0]
  for (let day = first; day <= last + LATE_DAYS; day += 1) {
    clock.nowMs = day * DAY + READ_AT_MS
    const items = played.flatMap((each) => itemsHandedIn(each, clock.nowMs))
    for (let at = 0; at < items.length; at += 2000) await outbox.add(items.slice(at, at + 2000))
    await Promise.all(
      played.map(async ({ profileId }) => {
        for (;;) {
          const { parcels, more } = await outbox.readWaiting(profileId, 'data-logs')
          if (parcels.length > 0) await outbox.markSent({ profileId, stream: 'data-logs', parcels })
          if (!more) return
        }
      }),
    )
    await Promise.all(played.map((each) => readDue(each, { ledger, writer, nowMs: clock.nowMs })))
  }
  await writer.close()
}

/** How many days after the last day are played, so that it settles and the latest logs come. */
const LATE_DAYS = 11

async function addPeople(pool: Pool, people: readonly PlannedPerson[]): Promise<Played[]> {
  const profiles = createProfiles({ pool, catalogue, tokenKeys: [Buffer.alloc(32, 7)] })
  const firstDay = people[0]?.days[0]?.day ?? 0
  const names = people.map(({ externalId }) => externalId)
  await profiles.add(names, { wantedFrom: new Date(firstDay * DAY), state: 'active' })
  const ids = await Promise.all(names.map((name) => profiles.findId(name)))
  const played: Played[] = []
  for (const [index, person] of people.entries()) {
    played.push({ person, profileId: ids[index]?.profileId ?? '', records: recordsOf(person) })
    // A connection that nobody looks after counts as lost, and to derive all people takes seconds.
    await new Promise(setImmediate)
  }
  return played
}

/** All daily records that upstream derives of a person in the end, without the days from which it fails to derive. */
function recordsOf({ days }: PlannedPerson): Played['records'] {
  const failed = new Set(days.flatMap(({ day, isDerived }) => (isDerived ? [] : [day])))
  const derived = derive({
    profileId: '00000000-0000-4000-8000-000000000000',
    logs: days.flatMap(({ logs }) => logs.map(parsedLog)),
    demographics: { birthDate: null, age: 40, gender: 'Female' },
    asOfMs: ((days.at(-1)?.day ?? 0) + 3) * DAY,
  })
  return new Map(
    streams.map((stream) => [
      stream.name,
      (stream.name === 'scores' ? derived.scores : derived.biomarkers).flatMap((fields) => {
        if (stream.name === 'biomarkers' && fields['periodicity'] !== 'daily') return []
        const day = dayNumberFromText(localDateTextOf(stream, fields) ?? '')
        const startMs = checkedInstant(String(fields['scoreDateTime'] ?? fields['startDateTime'])).epochMs
        return failed.has(day) ? [] : [{ day, startMs, raw: JSON.stringify(fields), fields }]
      }),
    ]),
  )
}

function parsedLog(log: SampleLog) {
  const [start, end] = [checkedInstant(log.startDateTime), checkedInstant(log.endDateTime)]
  return {
    ...log,
    ...{ parentId: log.parentId ?? null, deviceId: log.deviceId ?? null, periodicity: null, modifiedMs: null },
    ...{ startMs: start.epochMs, endMs: end.epochMs, startOffset: start.offsetMinutes, endOffset: end.offsetMinutes },
  }
}

const logStream = pushedStreams[3]

function itemsHandedIn({ person, profileId }: Played, nowMs: number): OutboxItem[] {
  const fresh = person.days.filter(
    ({ handedInAtMs = Number.POSITIVE_INFINITY }) => handedInAtMs <= nowMs && handedInAtMs > nowMs - DAY,
  )
  const options = {
    stream: logStream,
    format: 'ndjson',
    completeOffset: (text: string) => text,
    replace: false,
    nowMs,
  } as const
  return fresh.flatMap(({ logs }) =>
    logs.flatMap((log) => {
      const read = toItem({ externalId: person.externalId, ...log }, options)
      return 'item' in read ? [{ profileId, ...read.item }] : []
    }),
  )
}

type Reading = {
  readonly ledger: ReturnType<typeof createLedger>
  readonly writer: ReadingWriter
  readonly nowMs: number
}

async function readDue(played: Played, { ledger, writer, nowMs }: Reading): Promise<void> {
  const { profileId, person } = played
  const plan = await ledger.plan({ profileId, nowMs, streams: streams.map(({ name }) => name) })
  const known = new Set(person.days.filter(({ handedInAtMs }) => (handedInAtMs ?? 0) <= nowMs).map(({ day }) => day))
  const read = ({ stream, window, generation }: DueWindow) => {
    const records = (played.records.get(stream.name) ?? []).filter(
      ({ day, startMs }) => known.has(day) && startMs >= window.startMs && startMs < window.endMs && startMs <= nowMs,
    )
    const answer = { sentAtMs: nowMs, serverAtMs: nowMs, word: 'finished', tag: undefined, unchanged: false } as const
    return writer.store({ profileId, stream, window, generation, ...answer, records, invalid: [] })
  }
  await Promise.all((plan?.due ?? []).map(read))
}
