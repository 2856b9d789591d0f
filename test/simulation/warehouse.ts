import { MINUTE } from '../../src/base/time/units.ts'
import { settleReading } from '../../src/pipeline/ledger/judge.ts'
import type { EndedJob } from '../../src/pipeline/transfer/order.ts'
import type { OutboxItem, PushedParcels, RefusedItem } from '../../src/pipeline/transfer/parcel.ts'
import type { ProfilePage } from '../../src/pipeline/transfer/planned-profile.ts'
import type { Reading } from '../../src/pipeline/transfer/reading.ts'
import type { AddedProfiles } from '../../src/pipeline/warehouse/profiles/stored-profiles.ts'
import { LOGS, type ProcessSettings, streamNames } from './circumstances.ts'
import { storeInModel } from './model-reading.ts'
import { type ModelData, type ModelProfile, newLedgerRow } from './model-state.ts'
import { addItemsInModel, markSentInModel, quarantineInModel, waitingInModel } from './outbox.ts'
import { type PlanInput, planInModel } from './planning.ts'
import { createModelRuns, nextLookMs } from './runs.ts'
import type { Situations } from './situations.ts'

/** One process of the program: its settings, and its estimate of the database's clock. */
export type SimulatedProcess = ProcessSettings & { clock(): number }

type Circumstances = {
  /** The database's clock. */
  readonly now: () => number
  readonly saw: Situations['saw']
  /** The real judge, or one with a planted bug. */
  readonly settle?: typeof settleReading | undefined
  readonly onPlan?: ((input: PlanInput, windows: readonly { startMs: number; endMs: number }[]) => void) | undefined
  /** Takes the promises that a decision of the judge breaks. */
  readonly broken?: ((violations: readonly string[]) => void) | undefined
  /** Where ids come from: the real warehouse draws them, where there is one. */
  readonly ids: { parcel(): string; run(): string; lease(): string }
}

const DAY_MINUTES = 24 * 60
const backoffMs = (attempts: number, maxMs: number) => Math.min(15 * MINUTE * 2 ** Math.min(attempts - 1, 12), maxMs)

export type ModelWarehouse = ReturnType<typeof createWarehouse>

/**
 * A warehouse as small as it can be, with the real planner and judge in it: what the statements of `src/pipeline/warehouse` do in
 * SQL is said here in a few lines each, one function a transaction. The stories hold it against the SQL itself.
 */
export function createWarehouse({
  now,
  saw,
  settle = settleReading,
  onPlan = () => undefined,
  broken = () => undefined,
  ids,
}: Circumstances) {
  const data: ModelData = { people: new Map(), tombstones: new Set(), runs: new Map(), slots: new Set() }
  const { people } = data
  const runs = createModelRuns({ data, now, saw, drawRun: ids.run, drawLease: ids.lease })
  const namesHere = () => new Set([...people.values()].map(({ externalId }) => externalId))

  const firstReadingOf = ({ settle: { intervalsMs } }: SimulatedProcess) => intervalsMs[0] ?? 0

  const profilesOf = () => ({
    add(externalIds: readonly string[]): AddedProfiles {
      const erased = externalIds.filter((one) => !namesHere().has(one) && data.tombstones.has(one)).length
      return { added: 0, known: externalIds.length - erased, erased }
    },
    setState(profileId: string, state: 'active' | 'gone'): boolean {
      const here = people.get(profileId)
      if (!here || (here.state === 'gone' && state === 'active')) return false
      here.state = state
      if (state === 'active') here.registeringUntilMs = null
      return true
    },
    beginRegistration(profileId: string, leaseMs: number): boolean {
      const here = people.get(profileId)
      if (!here || here.state === 'gone') return false
      here.registeringUntilMs = now() + leaseMs
      return true
    },
    endRegistration(profileId: string): void {
      const here = people.get(profileId)
      if (here) here.registeringUntilMs = null
    },
    registrationLeftMs: (profileId: string): number =>
      Math.max(0, (people.get(profileId)?.registeringUntilMs ?? now()) - now()),
    erase(profileId: string): [] {
      const here = people.get(profileId)
      if (!here) return []
      data.tombstones.add(here.externalId)
      people.delete(profileId)
      runs.deleteOrders(profileId)
      return []
    },
  })

  const pageOf = (afterId: string, limit: number, isDue: (here: ModelProfile, id: string) => boolean): ProfilePage => {
    const all = [...people].filter(
      ([id, here]) => here.state !== 'gone' && Number(id) > Number(afterId) && isDue(here, id),
    )
    const found = all
      .map(([id]) => id)
      .toSorted((a, b) => Number(a) - Number(b))
      .slice(0, limit)
    return { ids: found, lastId: found.at(-1) ?? afterId }
  }

  /** The warehouse as one process uses it. */
  const roomsOf = (process: SimulatedProcess) => ({
    profiles: profilesOf(),
    lists: {
      list: (afterId: string, limit: number, named?: readonly string[]) =>
        pageOf(afterId, limit, (_, id) => named?.includes(id) ?? true),
      listDue: (afterId: string, limit: number) => pageOf(afterId, limit, ({ dueMs }) => dueMs <= now()),
      listUnfinishedSince: (slotAt: Date, afterId: string, limit: number) =>
        pageOf(afterId, limit, ({ finishedMs }) => finishedMs === null || finishedMs < slotAt.getTime()),
    },
    runs,
    ledger: {
      plan(request: Parameters<typeof planInModel>[1]) {
        const here = people.get(request.profileId)
        return here && planInModel(here, request, { ...process, databaseNowMs: now(), onPlan })
      },
      recordRefusal: (refusal: Parameters<typeof recordRefusal>[1]) =>
        recordRefusal(people.get(refusal.profileId), refusal),
      recordFinished: (ended: EndedJob) => recordFinished(process, ended),
      recordFailed: (ended: EndedJob, { reason }: { reason: string }) => recordFailed(ended, reason),
    },
    writer: {
      store: (request: Reading) =>
        storeInModel(people.get(request.profileId), request, {
          ...process,
          ...{ processNowMs: process.clock(), databaseNowMs: now(), settleReading: settle, saw, broken },
        }),
    },
    outbox: {
      add: (items: readonly OutboxItem[]) =>
        addItemsInModel(people.get(items[0]?.profileId ?? ''), items, { nowMs: now(), saw, drawId: ids.parcel }),
      readWaiting: (profileId: string) => waitingInModel(people.get(profileId)),
      markSent(push: PushedParcels, runId?: string): void {
        const { pulled } = process.catalogue
        const firstReadingMs = firstReadingOf(process)
        const items = markSentInModel(people.get(push.profileId), push, { nowMs: now(), firstReadingMs, pulled })
        if (items === 0) saw('a push marked by two workers')
        runs.countPushedItems(push.profileId, runId, items)
      },
      quarantineRefused(push: PushedParcels, items: readonly RefusedItem[]): void {
        saw('a log that upstream refuses')
        quarantineInModel(people.get(push.profileId), push, items)
      },
    },
  })

  type RefusedWindow = {
    profileId: string
    stream: string
    window: { startMs: number; endMs: number }
    status: number | undefined
  }

  /** A refusal replaces those that it overlaps, and its backoff goes on from theirs. */
  function recordRefusal(here: ModelProfile | undefined, { stream, window, status }: RefusedWindow): void {
    if (!here) return
    const isFormer = (one: ModelProfile['refusals'][number]) =>
      one.stream === stream && one.window.startMs < window.endMs && window.startMs < one.window.endMs
    const former = here.refusals.filter(isFormer)
    const attempts = 1 + Math.max(0, ...former.map((one) => one.attempts))
    if (attempts > 1) saw('a window refused again after its backoff')
    const own = {
      ...{ stream, window, status: status ?? null, attempts },
      firstMs: Math.min(now(), ...former.map(({ firstMs }) => firstMs)),
      lastMs: now(),
      nextTryMs: now() + backoffMs(attempts, 7 * DAY_MINUTES * MINUTE),
    }
    here.refusals = [...here.refusals.filter((one) => !isFormer(one)), own]
  }

  function recordFinished(process: SimulatedProcess, ended: EndedJob): void {
    const here = people.get(ended.profileId)
    if (here) {
      here.failures.delete(ended.job)
      const streams = process.catalogue.pulled.map(({ name }) => name)
      const { begunAtMs } = ended
      here.dueMs = nextLookMs(here, { begunAtMs, nowMs: now(), firstReadingMs: firstReadingOf(process), streams })
      here.finishedMs = now()
      here.runId = ended.runId
    }
    runs.countEnded(ended, 'done')
  }

  function recordFailed(ended: EndedJob, reason: string): void {
    const here = people.get(ended.profileId)
    if (here) {
      const attempts = (here.failures.get(ended.job)?.attempts ?? 0) + 1
      here.failures.set(ended.job, { attempts, reason })
      here.dueMs = Math.max(here.dueMs, now() + backoffMs(attempts, 26 * 60 * MINUTE))
    }
    runs.countEnded(ended, 'failed')
  }

  return {
    data,
    roomsOf,
    addProfile(profileId: string, profile: Pick<ModelProfile, 'externalId' | 'state' | 'wantedFromMs'>): void {
      people.set(profileId, newModelProfile(profile, now(), [...streamNames, LOGS]))
    },
    backup: (): ModelData => structuredClone(data),
    restore(saved: ModelData): void {
      for (const name of ['people', 'tombstones', 'runs', 'slots'] as const) data[name].clear()
      const { people: savedPeople, tombstones, runs: savedRuns, slots } = structuredClone(saved)
      for (const [id, one] of savedPeople) data.people.set(id, one)
      for (const [id, one] of savedRuns) data.runs.set(id, one)
      for (const one of tombstones) data.tombstones.add(one)
      for (const one of slots) data.slots.add(one)
    },
  }
}

function newModelProfile(
  { externalId, state, wantedFromMs }: Pick<ModelProfile, 'externalId' | 'state' | 'wantedFromMs'>,
  nowMs: number,
  streams: readonly string[],
): ModelProfile {
  return {
    ...{ externalId, state, wantedFromMs },
    ...{ addedMs: nowMs, dueMs: nowMs, registeringUntilMs: null, finishedMs: null, runId: null },
    ledger: new Map(streams.map((stream) => [stream, newLedgerRow()])),
    ...{ refusals: [], failures: new Map(), records: new Map(), history: [], tags: [], silent: [] },
    ...{ quarantine: new Map(), items: new Map(), parcels: new Map(), newReadings: [], newestValues: new Map() },
  }
}
