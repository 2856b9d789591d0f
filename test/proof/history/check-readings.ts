import { type Span, subtract, union } from '../../../src/base/time/spans.ts'
import { MINUTE, SECOND } from '../../../src/base/time/units.ts'
import type {
  FinalProfile,
  HeldRecord,
  InjectedFault,
  Reading,
  Snapshot,
  StoredStream,
  Witnessed,
  WitnessedReading,
  WitnessedRecord,
} from './history.ts'
import { eventsOf, namesById, type RunSeen, type Violation } from './rules.ts'

/**
 * The rows are those of the newest reading, and nothing else; what is covered is what upstream has: in every snapshot by
 * what it served until then, and at the end by what it serves.
 */
export function checkReadings(run: RunSeen): Violation[] {
  const { events, final } = run
  const readings = eventsOf(events, 'reading')
  return [
    ...checkOrigins(run, readings),
    ...checkNewest(final.witnessed),
    ...checkRefusals(final.witnessed),
    ...checkSnapshots(eventsOf(events, 'snapshot'), readings),
    ...final.profiles.flatMap(checkProfile),
  ]
}

const streamKey = (profile: string, stream: string) => `${profile} ${stream}`
const recordKey = (owner: string, { key, digest }: HeldRecord) => `${owner} ${key} ${digest}`

/** A clock of the fleet may be this far from the clock of the proxy without a fault. */
const CLOCKS_DIFFER_MAX_MS = 2 * SECOND
/** How long after a jump a process may use a wrong clock: it measures its clock each minute. */
const JUMP_LASTS_MS = MINUTE

/** Each stored version of a record was served, to a request that was not sent before the version's own stamp. */
function checkOrigins({ events, final }: RunSeen, readings: readonly Reading[]): Violation[] {
  const jumps = eventsOf(events, 'fault').filter(({ fault }) => fault === 'jump-clock')
  const served = new Map<string, Reading[]>()
  for (const reading of readings) {
    for (const record of reading.records) {
      const key = recordKey(streamKey(reading.profile, reading.stream), record)
      const those = served.get(key)
      if (those) those.push(reading)
      else served.set(key, [reading])
    }
  }
  const names = namesById({ events, final })
  return witnessedOf(final.witnessed, 'record').flatMap(({ profileId, stream, record, gone, readAtMs, atMs }) => {
    const name = names.get(profileId)
    if (gone || name === undefined) return []
    const key = recordKey(streamKey(name, stream), record)
    const fits = ({ sentAtMs }: Reading) =>
      sentAtMs <= atMs && (sentAtMs >= readAtMs - CLOCKS_DIFFER_MAX_MS || isJumped(jumps, sentAtMs))
    if (served.get(key)?.some(fits)) return []
    return [{ rule: 'record invented', text: `${stream} ${record.key} of ${profileId} as of ${readAtMs}` }]
  })
}

const isJumped = (jumps: readonly InjectedFault[], atMs: number): boolean =>
  jumps.some((jump) => jump.atMs <= atMs && atMs <= jump.endedAtMs + JUMP_LASTS_MS)

function witnessedOf<K extends Witnessed['kind']>(witnessed: readonly Witnessed[], kind: K) {
  return witnessed.filter((row): row is Extract<Witnessed, { kind: K }> => row.kind === kind)
}

/** No version replaces that of a later request, nor one that a later request has confirmed without a change. */
function checkNewest(witnessed: readonly Witnessed[]): Violation[] {
  const rows = witnessed.filter((row) => row.kind === 'record' || row.kind === 'ledger')
  const perStream = Map.groupBy(rows, ({ profileId, stream }) => streamKey(profileId, stream))
  return [...perStream.values()].flatMap(checkStreamOrder)
}

function checkStreamOrder(rows: ReadonlyArray<WitnessedRecord | WitnessedReading>): Violation[] {
  const versions = new Map<string, number>()
  let stored: WitnessedReading['recent'] = []
  const found: Violation[] = []
  for (const row of rows) {
    if (row.kind === 'ledger') {
      stored = row.recent
      continue
    }
    const { record, readAtMs, stream, profileId } = row
    const formerMs = versions.get(record.key) ?? Number.NEGATIVE_INFINITY
    const newer = stored.find(
      ([startMs, endMs, sentAtMs]) => sentAtMs > readAtMs && isInside(record, { startMs, endMs }),
    )
    if (readAtMs < formerMs || newer) {
      const text = `${stream} ${record.key} of ${profileId} as of ${readAtMs}, after ${newer?.[2] ?? formerMs}`
      found.push({ rule: 'older reading on top', text })
    }
    versions.set(record.key, readAtMs)
  }
  return found
}

/** SQLSTATEs of the classes 22 and 23: the data contradict the tables. A version that begins after its end is one of them. */
const contradicts = /^store reading: .*\((22|23)/

/** Postgres takes each answer, in whatever order the answers come. */
const checkRefusals = (witnessed: readonly Witnessed[]): Violation[] =>
  witnessedOf(witnessed, 'refusal')
    .filter(({ reason }) => contradicts.test(reason))
    .map(({ profileId, stream, reason }) => ({
      rule: 'reading refused by Postgres',
      text: `${stream} of ${profileId}: ${reason}`,
    }))

/** Whether a reading of the span must have held the record, whatever upstream means by a record that touches a window. */
export const isInside = ({ startMs, endMs }: Span, span: Span): boolean =>
  startMs >= span.startMs && startMs < span.endMs && endMs <= span.endMs

const spansOf = ({ covered }: Pick<StoredStream, 'covered'>): Span[] =>
  union(covered.map(([startMs, endMs]) => ({ startMs, endMs })))
const within = (records: readonly HeldRecord[], spans: readonly Span[]) =>
  records.filter((record) => spans.some((span) => isInside(record, span)))

/** A record that every answer held is stored wherever the ledger vouches for its span, at any moment. */
function checkSnapshots(snapshots: readonly Snapshot[], readings: readonly Reading[]): Violation[] {
  const perStream = Map.groupBy(readings, ({ profile, stream }) => streamKey(profile, stream))
  const steady = new Map([...perStream].map(([key, its]) => [key, recordsOfAll(its)]))
  return snapshots.flatMap(({ profile, stream, atMs, ...stored }) => {
    const there = new Set(stored.records.map(({ key }) => key))
    const owed = within(steady.get(streamKey(profile, stream)) ?? [], spansOf(stored))
    const missing = owed.filter(({ key }) => !there.has(key))
    if (missing.length === 0) return []
    const text = `${missing.length} of ${owed.length} ${stream} of ${profile} at ${atMs}, such as ${missing[0]?.key}`
    return [{ rule: 'covered without rows', text }]
  })
}

/** The records that each reading held which must have held them. */
function recordsOfAll(readings: readonly Reading[]): HeldRecord[] {
  const held = new Map<string, { record: HeldRecord; times: number }>()
  for (const reading of readings) {
    // An answer also has records that only touch its window: it need not have held them.
    const owed = reading.records.filter((record) => isInside(record, reading))
    for (const [key, record] of new Map(owed.map((record) => [record.key, record]))) {
      const before = held.get(key)
      held.set(key, { record, times: (before?.times ?? 0) + 1 })
    }
  }
  const readingsOf = (record: HeldRecord) => readings.filter((reading) => isInside(record, reading)).length
  return [...held.values()].flatMap(({ record, times }) => (times >= readingsOf(record) ? [record] : []))
}

function checkProfile({ profile, wanted, streams, snapshots }: FinalProfile): Violation[] {
  const unlike = snapshots.flatMap(({ stream, records, served }) =>
    checkAlike(`${stream} of ${profile}`, records, served),
  )
  const perStream = streams.flatMap((stream) => {
    const spans = spansOf(stream)
    const name = `${stream.stream} of ${profile}`
    const open = subtract([{ startMs: wanted[0], endMs: wanted[1] }], spans)
    const never = open.map((span): Violation => ({ rule: 'never covered', text: `${name}: ${textOf(span)}` }))
    return [...never, ...checkAlike(name, within(stream.records, spans), within(stream.served, spans))]
  })
  return [...unlike, ...perStream]
}

function checkAlike(name: string, ours: readonly HeldRecord[], theirs: readonly HeldRecord[]): Violation[] {
  const differing = differences(ours, theirs)
  if (differing.length === 0) return []
  const text = `${name}: ${differing.length} of ${theirs.length} differ, such as ${differing[0]}`
  return [{ rule: 'covered unlike upstream', text }]
}

function differences(ours: readonly HeldRecord[], theirs: readonly HeldRecord[]): string[] {
  const textsOf = (records: readonly HeldRecord[]) => new Set(records.map(({ key, digest }) => `${key} ${digest}`))
  const [here, there] = [textsOf(ours), textsOf(theirs)]
  const missing = [...there].filter((text) => !here.has(text))
  const extra = [...here].filter((text) => !there.has(text))
  return [...missing.map((text) => `missing ${text}`), ...extra.map((text) => `extra ${text}`)]
}

const textOf = ({ startMs, endMs }: Span): string =>
  `${new Date(startMs).toISOString()}/${new Date(endMs).toISOString()}`
