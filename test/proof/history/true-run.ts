import { DAY, HOUR, SECOND } from '../../../src/base/time/units.ts'
import type {
  FinalProfile,
  FinalState,
  HeldRecord,
  HistoryEvent,
  Reading,
  Witnessed,
  WitnessedReading,
} from './history.ts'
import type { RunSeen } from './rules.ts'

type Draw = () => number

/** A run that is being made up. */
type Draft = { events: HistoryEvent[]; witnessed: Witnessed[]; nowMs: number }

const WINDOW = { startMs: 0, endMs: 10 * DAY }
const streams = ['scores', 'biomarkers']
const between = (draw: Draw, least: number, most: number) => least + Math.floor(draw() * (most - least + 1))
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n))

/** A run in which every promise was kept, of a size and with chances that `draw` decides. */
export function makeTrueRun(draw: Draw): RunSeen {
  const draft: Draft = { events: [], witnessed: [], nowMs: 20 * DAY }
  draft.events.push({ kind: 'plan', seed: '1', faults: ['kill-process', 'cut-queue'] })
  const people = times(between(draw, 1, 3), (n) => ({ profile: `person-${n}`, profileId: String(n + 1) }))
  const profiles = people.map((person) => readPerson(draft, person, draw))
  const upstreamItems = people.flatMap(({ profile }) => pushItems(draft, profile, draw))
  const runs = times(between(draw, 1, 3), (n) => endRun(draft, String(n + 1), { people, slot: n }))
  for (const name of ['account', ...people.map(({ profileId }) => profileId)]) renew(draft, { name, people, draw })
  eraseSomebody(draft)
  for (const fault of ['kill-process', 'cut-queue', 'cut-queue'] as const)
    draft.events.push({ kind: 'fault', fault, target: 'worker-1', ...spanOf(draft), fired: true })
  draft.events.push({ kind: 'rest', reached: true, rounds: 3, tookMs: 1000, left: '' })
  const upstreamProfiles = people.map(({ profile }) => profile)
  const none = { rowsOfErased: [], waitingItems: 0, quarantined: 0 }
  const final: FinalState = { profiles, upstreamItems, upstreamProfiles, runs, witnessed: draft.witnessed, ...none }
  return { events: draft.events, final }
}

const tick = (draft: Draft): number => (draft.nowMs += SECOND)
const spanOf = (draft: Draft) => ({ atMs: tick(draft), endedAtMs: tick(draft) })

type Person = { readonly profile: string; readonly profileId: string }

/** `Omit` of each member of the union. */
type Unstamped<T> = T extends Witnessed ? Omit<T, 'n' | 'atMs'> : never

function witness(draft: Draft, row: Unstamped<Witnessed>): void {
  draft.witnessed.push({ ...row, n: draft.witnessed.length + 1, atMs: tick(draft) })
}

function readPerson(draft: Draft, person: Person, draw: Draw): FinalProfile {
  const held = streams.map((stream) => {
    const records = readStream(draft, { ...person, stream, draw })
    return { stream, covered: [[WINDOW.startMs, WINDOW.endMs]] as const, records, served: records }
  })
  const present = times(between(draw, 1, 3), (n) => recordAt(n, 1))
  const snapshots = [{ stream: 'demographics', records: present, served: present }]
  return { ...person, wanted: [WINDOW.startMs, WINDOW.endMs - HOUR], streams: held, snapshots }
}

/**
 * Upstream changes between readings, sometimes by a push; each reading stores what is new, and a reading that finds no change
 * only confirms.
 */
function readStream(draft: Draft, its: Person & { stream: string; draw: Draw }): readonly HeldRecord[] {
  const { profile, profileId, stream, draw } = its
  let held: readonly HeldRecord[] = []
  let served: HeldRecord[] = times(between(draw, 2, 5), (n) => recordAt(n, 1))
  let recent: WitnessedReading['recent'] = []
  for (let left = between(draw, 2, 5); left > 0; left -= 1) {
    const isPushed = draw() < 0.5
    if (isPushed) witness(draft, { kind: 'ledger', profileId, stream, recent, touched: true, grew: false })
    const sentAtMs = tick(draft)
    const reading: Reading = {
      kind: 'reading',
      profile,
      stream,
      ...WINDOW,
      sentAtMs,
      answeredAtMs: tick(draft),
      records: served,
    }
    draft.events.push(reading)
    const before = new Map(held.map((record) => [record.key, record.digest]))
    for (const record of served.filter(({ key, digest }) => before.get(key) !== digest))
      witness(draft, { kind: 'record', profileId, stream, record, gone: false, readAtMs: sentAtMs })
    const keys = new Set(served.map(({ key }) => key))
    for (const record of held.filter(({ key }) => !keys.has(key)))
      witness(draft, { kind: 'record', profileId, stream, record, gone: true, readAtMs: sentAtMs })
    const grew = isPushed || recent.length === 0
    recent = [[WINDOW.startMs, WINDOW.endMs, sentAtMs]]
    witness(draft, { kind: 'ledger', profileId, stream, recent, touched: false, grew })
    held = served
    const covered = [[WINDOW.startMs, WINDOW.endMs]] as const
    draft.events.push({ kind: 'snapshot', profile, atMs: tick(draft), stream, covered, records: held })
    if (left > 1) served = changed(served, draw)
  }
  return held
}

const recordAt = (day: number, version: number): HeldRecord => ({
  key: `day ${day}`,
  digest: `version ${version} of ${day}`,
  startMs: day * DAY,
  endMs: day * DAY + HOUR,
})

/** The first record never vanishes. */
function changed(records: readonly HeldRecord[], draw: Draw): HeldRecord[] {
  const kept = records.filter((_, index) => index === 0 || draw() < 0.8)
  return kept.map((record) => (draw() < 0.4 ? { ...record, digest: `${record.digest}'` } : record))
}

function pushItems(draft: Draft, profile: string, draw: Draw): FinalState['upstreamItems'] {
  return times(between(draw, 1, 4), (n) => {
    const item = `item ${n} of ${profile}`
    const newest = between(draw, 1, 3)
    for (let version = 1; version <= newest; version += 1)
      draft.events.push({ kind: 'handed', item, profile, version, outcome: 'acknowledged' })
    const isUnknown = draw() < 0.3
    if (isUnknown) draft.events.push({ kind: 'handed', item, profile, version: newest + 1, outcome: 'unknown' })
    const version = isUnknown && draw() < 0.5 ? newest + 1 : newest
    const request = { sentAtMs: tick(draft), answeredAtMs: tick(draft) }
    for (const outcome of ['unknown', 'acknowledged'] as const)
      draft.events.push({ kind: 'push', items: [{ item, version }], outcome, ...request })
    return { item, profile, version }
  })
}

function endRun(draft: Draft, run: string, { people, slot }: { people: readonly Person[]; slot: number }) {
  for (const ended of [false, true])
    for (const { profileId } of people) witness(draft, { kind: 'order', run, profileId, ended })
  const enqueued = people.length
  return { run, kind: 'sweep', state: 'done', slotAt: `minute ${slot}`, enqueued, ended: enqueued }
}

/** Some leases end without a new generation, because their process died. */
function renew(draft: Draft, { name, people, draw }: { name: string; people: readonly Person[]; draw: Draw }): void {
  const profile = people.find(({ profileId }) => profileId === name)?.profile ?? name
  const row = { kind: 'token', profileId: name } as const
  for (let generation = 0; generation < between(draw, 1, 3); generation += 1) {
    const leaseUntilMs = draft.nowMs + 20 * SECOND
    const none = { leaseUntilMs: null, formerUntilMs: null }
    witness(draft, { ...row, ...none, step: 'lease', generation, leaseUntilMs })
    if (draw() < 0.3) {
      draft.nowMs = leaseUntilMs + 1
      witness(draft, { ...row, step: 'lease', generation, leaseUntilMs: null, formerUntilMs: leaseUntilMs })
    }
    const request = { sentAtMs: tick(draft), answeredAtMs: tick(draft) }
    const call = name === 'account' ? { call: 'account' as const } : refreshOr(generation, profile)
    draft.events.push({ kind: 'token', name: profile, ...call, outcome: 'acknowledged', ...request })
    witness(draft, { ...row, ...none, step: 'save', generation: generation + 1 })
  }
}

const refreshOr = (generation: number, profile: string) =>
  generation === 0
    ? { call: 'profile' as const }
    : { call: 'refresh' as const, spent: `refresh ${generation} of ${profile}` }

function eraseSomebody(draft: Draft): void {
  const somebody = { profile: 'erased', profileId: '99' }
  witness(draft, { kind: 'order', run: '0', profileId: '99', ended: false })
  witness(draft, { kind: 'order', run: '0', profileId: '99', ended: true })
  draft.events.push({ kind: 'handed', item: 'of the erased', profile: 'erased', version: 1, outcome: 'acknowledged' })
  draft.events.push({ kind: 'erasure', ...somebody, outcome: 'unknown', atMs: tick(draft) })
  draft.events.push({ kind: 'erasure', ...somebody, outcome: 'acknowledged', atMs: tick(draft) })
  draft.events.push({ kind: 'revival', profile: 'erased', added: false })
}
