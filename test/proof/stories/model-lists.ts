import type { Span } from '../../../src/base/time/spans.ts'
import type { ModelProfile } from '../../simulation/model-state.ts'
import type { ModelWarehouse } from '../../simulation/warehouse.ts'
import type { StateLists } from './real-state.ts'

const finite = (ms: number | null): number | null => (ms === null || Number.isFinite(ms) ? ms : null)
const pair = ({ startMs, endMs }: Span) => [finite(startMs), finite(endMs)]

/** The state of the model in the form in which `readRealState` reads the real one. */
export function listModelState({ data }: ModelWarehouse): StateLists {
  const people = [...data.people]
  const each = (rows: (here: ModelProfile, id: string) => unknown[][]) => people.flatMap(([id, here]) => rows(here, id))
  const runs = [...data.runs.values()]
  return {
    profiles: each((here, id) => [profileRow(here, id)]),
    ledger: each(ledgerRows),
    checkpoints: each(checkpointRows),
    refusals: each(({ refusals }, id) =>
      refusals.map(({ stream, window, status, attempts, firstMs, lastMs, nextTryMs }) => [
        ...[id, stream, window.startMs, window.endMs, status, attempts],
        ...[firstMs, lastMs, nextTryMs],
      ]),
    ),
    failures: each(({ failures }, id) =>
      [...failures].map(([job, { attempts, reason }]) => [id, job, attempts, reason]),
    ),
    records: each(recordRows),
    history: each(({ history }, id) =>
      history.map(({ stream, key, revision, raw, fromMs, untilMs, goneMs }) => [
        ...[id, stream, key, revision, raw, fromMs, untilMs, goneMs],
      ]),
    ),
    tags: each(({ tags }, id) =>
      tags.map(({ stream, startMs, endMs, tag, requestHash, edges }) => [
        ...[id, stream, startMs, endMs, tag, requestHash, [edges.crossingHashes, edges.reachesBack]],
      ]),
    ),
    silent: each(({ silent }, id) =>
      silent.map(({ stream, foundMs, records, lateMs }) => [id, stream, foundMs, records, lateMs]),
    ),
    quarantine: each(({ quarantine }, id) =>
      [...quarantine.values()].map((one) => [
        ...[id, one.stream, one.direction, one.body, one.path, one.reason, one.times],
      ]),
    ),
    items: each(({ items }, id) =>
      [...items].map(([key, { parcelId, place }]) => [id, 'data-logs', key, parcelId, place]),
    ),
    parcels: each(parcelRows),
    tombstones: data.tombstones.size,
    runs: runs.map((run) => [
      ...[run.id, run.kind, run.params, run.state, run.startedAt.getTime(), run.touchedMs],
      ...[run.endedAt?.getTime() ?? null, run.enqueued, run.enqueuedAll, run.afterId, run.done, run.failed],
      ...[run.refused, run.requests, run.unchanged, run.rowsRead, run.rowsWritten],
      ...[run.itemsPushed, run.itemsPushedElsewhere],
    ]),
    productions: runs.flatMap(({ id, production: held }) =>
      held ? [[id, held.afterId, held.enqueuedTo, held.lease, held.heldUntilMs]] : [],
    ),
    orders: runs.flatMap((run) =>
      [...run.orders].map(([profileId, { job, scope, orderedMs }]) => [run.id, profileId, job, scope, orderedMs]),
    ),
    slots: [...data.slots].map((slot) => {
      const [schedule, at = ''] = slot.split(' ')
      return [schedule, Date.parse(at)]
    }),
  }
}

const profileRow = (here: ModelProfile, id: string): unknown[] => [
  ...[id, here.externalId, here.state, here.wantedFromMs, here.addedMs, here.dueMs],
  ...[here.registeringUntilMs, here.finishedMs, here.runId],
]

const ledgerRows = ({ ledger }: ModelProfile, id: string): unknown[][] =>
  [...ledger].map(([stream, row]) => [
    ...[id, stream, row.covered.map(pair), row.generation, row.unread.map(pair), row.touchedAtMs],
    row.rereads.map(({ startMs, endMs, touchedAtMs, readAtMs, readings, isSuspect }) => [
      ...[finite(startMs), finite(endMs), touchedAtMs, readAtMs, readings],
      ...(isSuspect ? [1] : []),
    ]),
    finite(row.readAgainAtMs),
    row.recent.map(({ startMs, endMs, sentAtMs, crossingHashes, reachesBack }) => [
      ...[startMs, endMs, sentAtMs],
      ...(crossingHashes.length > 0 ? [crossingHashes] : []),
      ...(reachesBack ? [1] : []),
    ]),
    ...[row.readAtMs, row.pushedToMs, row.tagged],
    row.suspicions.map(({ startMs, endMs, sentAtMs, lackedHashes }) => [
      ...[startMs, endMs, sentAtMs],
      lackedHashes.toSorted((a, b) => a - b),
    ]),
  ])

/** The end up to which coverage has no gap; of what is pushed, up to which nothing waits. */
function checkpointRows({ externalId, wantedFromMs, ledger, parcels }: ModelProfile): unknown[][] {
  const waitingEnds = [...parcels.values()].map(({ firstEndAtMs }) => firstEndAtMs)
  return [...ledger].map(([stream, { covered, pushedToMs }]) => {
    const first = covered.find(({ startMs, endMs }) => startMs <= wantedFromMs && wantedFromMs < endMs)
    const ends = [...(pushedToMs === null ? [] : [pushedToMs]), ...(stream === 'data-logs' ? waitingEnds : [])]
    return [externalId, stream, first ? finite(first.endMs) : ends.length > 0 ? Math.min(...ends) : null]
  })
}

const recordRows = ({ records }: ModelProfile, id: string): unknown[][] =>
  [...records.values()].map((one) => [
    ...[id, one.stream, one.raw, one.startMs, one.endMs, String(one.value), one.localDate],
    ...[one.revision, one.readAtMs, one.firstSeenMs, one.changedMs, one.goneMs],
  ])

const parcelRows = ({ parcels }: ModelProfile, id: string): unknown[][] =>
  [...parcels.values()].map((one) => [
    ...[id, one.id, 'data-logs', one.mode, one.body, one.sizes, one.takenOut, one.waiting],
    ...[one.startAtMs, one.firstEndAtMs, one.endAtMs, one.addedMs],
  ])
