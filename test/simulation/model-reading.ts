import { jsonOrUndefined } from '../../src/base/text/json.ts'
import { intersect, overlaps, type Span, subtract, union } from '../../src/base/time/spans.ts'
import { HOUR } from '../../src/base/time/units.ts'
import { suspectParts } from '../../src/pipeline/ledger/awaiting-upstream.ts'
import {
  type Admission,
  isHeldByNewer,
  isInside,
  judgeReading,
  reachesInto,
  type settleReading,
  type WindowEdges,
} from '../../src/pipeline/ledger/judge.ts'
import { countLateness, noLatenessCounts, similarDays } from '../../src/pipeline/ledger/lateness.ts'
import { settleMsOf } from '../../src/pipeline/ledger/settle-time.ts'
import { judgeSuspicions } from '../../src/pipeline/ledger/suspicion.ts'
import type { Reading } from '../../src/pipeline/transfer/reading.ts'
import { requestHashOf, taggedSpanOf } from '../../src/pipeline/transfer/tagged-window.ts'
import { localDateTextOf } from '../../src/pipeline/warehouse/readings/record-rows.ts'
import type { StoreResult } from '../../src/pipeline/warehouse/readings/store-group.ts'
import { violationsOfAdmission } from './admission-promises.ts'
import type { ProcessSettings } from './circumstances.ts'
import { compareWithStored, type ModelChanges, writeChanges } from './model-records.ts'
import { awaitingOf, keepAwaiting, type LedgerRow, type ModelProfile, type StoredRecord } from './model-state.ts'
import { changeModelTags } from './model-tags.ts'
import { endOf, type ModelRecord, modelRecordOf, periodOf } from './records.ts'
import { seeReading } from './seen-readings.ts'
import { violationsOfSettling } from './settling-promises.ts'
import type { Situations } from './situations.ts'

export type StoreSettings = Pick<ProcessSettings, 'settle' | 'belief'> & {
  /** By the process that stores. */
  readonly processNowMs: number
  readonly databaseNowMs: number
  /** The real judge, or one with a planted bug. */
  readonly settleReading: typeof settleReading
  readonly saw: Situations['saw']
  /** Takes what is broken by what the judge decided. */
  readonly broken: (violations: readonly string[]) => void
}

/** A reading that the judge admitted, with the records that no newer reading has spoken about. */
export type ModelReading = Omit<Reading, 'records'> &
  Admission & {
    readonly records: readonly ModelRecord[]
    readonly edges: WindowEdges
    readonly reachBackToMs: number
    readonly believed: boolean
  }

/** Does to the warehouse what the transaction of one reading does. */
export function storeInModel(here: ModelProfile | undefined, request: Reading, settings: StoreSettings): StoreResult {
  const records = request.records.map(({ raw }) => modelRecordOf(request.stream.name, raw))
  const counts = { read: records.length, written: 0, invalid: request.invalid.length }
  const leave = (outcome: 'erased' | 'outdated' | 'too-old'): StoreResult => {
    settings.saw(leftOut[outcome])
    return { outcome, ...counts }
  }
  const row = here?.ledger.get(request.stream.name)
  const edges = request.unchanged ? heldEdges(here, row, request) : edgesOf(records, request.window)
  if (!here || !row) return leave('erased')
  if (!edges) return leave('outdated')
  const ledger = { ...row, awaiting: awaitingOf(row) }
  const verdict = judgeReading({ ...request, ...edges }, ledger, settings.processNowMs)
  if (verdict.kind !== 'admitted') return leave(verdict.kind)
  settings.broken(violationsOfAdmission({ request, edges, row, nowMs: settings.processNowMs, verdict }))

  const judged = admit(request, { records, edges, verdict })
  const compared = compareWithStored(here, judged, settings.belief)
  const { reading, changes } = resolveSuspicions(row, { reading: judged, changes: compared }, settings)
  seeReading({ here, row, reading, changes, suspicious: compared.suspicious.length }, settings.saw)
  settle(here, row, { reading, changes }, settings)
  writeChanges(here, reading, changes)
  releaseMendedInModel(here, reading)
  keepInvalid(here, reading, Math.floor(settings.processNowMs))
  changeModelTags(here, row, reading, changes)
  noteReading(here, reading)
  const written = changes.added.length + changes.changed.length + changes.vanished.length
  return { outcome: reading.believed ? 'stored' : 'suspicious', ...counts, written }
}

const leftOut = {
  erased: 'a reading of an erased profile',
  outdated: 'an unchanged reading about a tag that was dropped',
  'too-old': 'a reading that is too old to be stored',
} as const

function heldEdges(here: ModelProfile | undefined, row: LedgerRow | undefined, request: Reading) {
  const span = taggedSpanOf(request.stream, request.window)
  const held = here?.tags.find(
    (one) =>
      one.stream === request.stream.name &&
      one.startMs === span.startMs &&
      one.endMs === span.endMs &&
      one.tag === request.tag &&
      one.requestHash === requestHashOf(request.stream, request.window),
  )
  return row?.tagged ? held?.edges : undefined
}

function edgesOf(records: readonly ModelRecord[], window: Span): WindowEdges {
  const crossing = records.filter((one) => one.startMs !== null && !isInside(periodOf(one), window))
  return {
    crossingHashes: crossing.map(({ keyHash }) => keyHash),
    reachesBack: crossing.some((one) => reachesInto(periodOf(one), window)),
  }
}

type Judged = {
  readonly records: readonly ModelRecord[]
  readonly edges: WindowEdges
  readonly verdict: Admission
}

function admit(request: Reading, { records, edges, verdict }: Judged): ModelReading {
  const { stream, window } = request
  const { newer } = verdict
  const isOurs = (one: ModelRecord) => stream.kind === 'windowed' && !isHeldByNewer({ ...one, ...periodOf(one) }, newer)
  return {
    ...request,
    ...verdict,
    records: newer.length === 0 ? records : records.filter(isOurs),
    complete: verdict.complete && request.invalid.length === 0 && !request.unchanged,
    edges,
    reachBackToMs: window.startMs - (edges.reachesBack ? (stream.longestMs ?? 0) : 0),
    believed: true,
  }
}

type Compared = { readonly reading: ModelReading; readonly changes: ModelChanges }

/** A reading that lacks more than one reading may mark gone marks nothing until others agree. */
function resolveSuspicions(row: LedgerRow, { reading, changes }: Compared, { belief }: StoreSettings): Compared {
  const lackedHashes = changes.suspicious.map(({ keyHash }) => keyHash)
  if (row.suspicions.length === 0 && lackedHashes.length === 0) return { reading, changes }
  const heldHashes = new Set(reading.records.map(({ keyHash }) => keyHash))
  const { isSuspicious, suspicions } = judgeSuspicions({ ...reading, heldHashes, lackedHashes }, row.suspicions, belief)
  row.suspicions = suspicions
  if (isSuspicious) return { reading: { ...reading, mayCover: false, complete: false, believed: false }, changes }
  return { reading, changes: { ...changes, vanished: [...changes.vanished, ...changes.suspicious] } }
}

/** Writes the coverage, and the spans that are read again. */
function settle(here: ModelProfile, row: LedgerRow, { reading, changes }: Compared, settings: StoreSettings): void {
  const { stream, window, sentAtMs, mayCover, believed } = reading
  const { intervalsMs } = settings.settle
  const fallback = { fallbackMs: stream.settleMs, settings: settings.settle }
  const rule = { settleMs: settleMsOf('1', null, fallback), intervalsMs }
  const ends = [...changes.added, ...changes.changed, ...changes.vanished].map(endOf)
  const firstChangeMs = ends.length > 0 ? Math.min(...ends) : undefined
  const before = { covered: row.covered, parts: awaitingOf(row) }
  const settled = settings.settleReading(reading, { awaiting: before.parts }, { mayCover, firstChangeMs, rule })
  const silentEnds = silentEndsOf(row, { reading, changes }, rule.settleMs)
  const suspect = similarDays(silentEnds)
  const awaiting = silentEnds.length === 0 ? settled.awaiting : suspectParts(settled.awaiting, suspect, sentAtMs)
  if (silentEnds.length > 0) settings.saw('a silent difference')
  if (silentEnds.length > 0)
    here.silent.push({
      stream: stream.name,
      foundMs: sentAtMs,
      records: silentEnds.length,
      lateMs: sentAtMs - Math.min(...silentEnds),
    })
  row.covered = subtract(union([...row.covered, ...settled.covers]), union([...settled.uncovers, ...suspect]))
  row.recent = reading.recent
  row.readAtMs = Math.max(row.readAtMs ?? sentAtMs, sentAtMs)
  keepAwaiting(row, awaiting, sentAtMs, rule)
  const after = { covered: row.covered, parts: awaiting, readAgainAtMs: row.readAgainAtMs }
  settings.broken(violationsOfSettling({ reading, rule, firstChangeMs, before, settled, suspect, after }))
  const span = believed ? window : { startMs: window.startMs, endMs: window.startMs }
  const isEnded = (refused: Span, nextTryMs: number) =>
    (refused.startMs >= span.startMs && refused.endMs <= span.endMs) || nextTryMs <= settings.databaseNowMs
  here.refusals = here.refusals.filter(
    (one) => one.stream !== stream.name || !overlaps(one.window, span) || !isEnded(one.window, one.nextTryMs),
  )
}

/** The ends of records that changed though their days had been called covered. */
function silentEndsOf(row: LedgerRow, { reading, changes }: Compared, settleMs: number): number[] {
  const { stream, window, records, sentAtMs, complete } = reading
  if (stream.kind === 'snapshot' || row.readAtMs === null || !complete) return []
  const came = changes.added.map(endOf)
  const changed = [...changes.changed, ...changes.vanished].map(endOf)
  return countLateness(
    noLatenessCounts(),
    { seen: records.map(endOf), came, changed },
    {
      sentAtMs,
      formerAtMs: row.readAtMs,
      settleMs,
      covered: intersect(row.covered, [window]),
      awaiting: awaitingOf(row),
    },
  )
}

/** A record leaves the quarantine when a later reading of its day, or of its window, does not hold it any more. */
function releaseMendedInModel(here: ModelProfile, reading: ModelReading): void {
  const { stream, window, sentAtMs, invalid } = reading
  if (!reading.believed || reading.unchanged || reading.word === 'pending' || reading.newer.length > 0) return
  const texts = new Set(invalid.map(({ raw }) => raw))
  const isWithin = (span: Span) =>
    stream.kind === 'snapshot' || (span.startMs >= window.startMs && span.endMs <= window.endMs)
  for (const [id, { stream: name, body, read }] of here.quarantine) {
    if (!read || name !== stream.name || texts.has(body) || read.seenMs >= Math.floor(sentAtMs)) continue
    const dayMs = read.localDate === undefined ? Number.NaN : Date.parse(read.localDate)
    const day = { startMs: dayMs - 26 * HOUR, endMs: dayMs + 36 * HOUR }
    if (isWithin(read.window) || isWithin(day)) here.quarantine.delete(id)
  }
}

function keepInvalid(here: ModelProfile, { stream, window, invalid }: ModelReading, seenMs: number): void {
  for (const { raw, path, reason } of new Map(invalid.map((one) => [one.raw, one])).values()) {
    const id = `pull ${stream.name} ${raw}`
    const times = (here.quarantine.get(id)?.times ?? 0) + 1
    const former = here.quarantine.get(id)
    here.quarantine.set(id, {
      ...{ stream: stream.name, direction: 'pull', body: raw, reason, times },
      path: former?.path ?? path,
      read: { window, localDate: localDateTextOf(stream, jsonOrUndefined(raw)), seenMs },
    })
  }
}

/** An unchanged answer says of each stored record of its window that it is as it is. */
function noteReading(here: ModelProfile, reading: ModelReading): void {
  const { stream, window, sentAtMs, edges, complete, unchanged } = reading
  const isHeld = (one: StoredRecord) =>
    one.stream === stream.name &&
    one.goneMs === null &&
    (edges.crossingHashes.includes(one.keyHash) || isInside(periodOf(one), window))
  const records = unchanged ? [...here.records.values()].filter(isHeld) : reading.records
  const values = new Map(records.map(({ name, value }) => [name, value]))
  const { reachesBack } = edges
  here.newReadings.push({ ...window, stream: stream.name, sentAtMs, reachesBack, complete, values })
}
