import { closeSync, openSync, writeSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { FaultName } from './fault-plan.ts'

/**
 * The events of one run of the fleet, in the order in which they became known. Written by the harness and by the proxy
 * between the fleet and the Profile Service; the fleet itself writes nothing here.
 */
export type HistoryEvent =
  | Plan
  | HandedItem
  | Push
  | Reading
  | TokenCall
  | Erasure
  | Revival
  | InjectedFault
  | Snapshot
  | Rest

/** The first event: the faults that the run has to inject. */
type Plan = { readonly kind: 'plan'; readonly seed: string; readonly faults: readonly FaultName[] }

/** `unknown`: the connection broke before the answer came, so it may have taken effect or not. */
export type Outcome = 'acknowledged' | 'refused' | 'unknown'

/** The app hands a form of an item to the outbox. Later forms have higher versions. */
export type HandedItem = {
  readonly kind: 'handed'
  readonly item: string
  readonly profile: string
  readonly version: number
  readonly outcome: Outcome
}

export type ItemVersion = { readonly item: string; readonly version: number }

/** An upload of the fleet, as the service answered it. */
type Push = Request & {
  readonly kind: 'push'
  readonly items: readonly ItemVersion[]
  readonly outcome: Outcome
}

/** `answeredAtMs`: when the first byte of the answer was passed on. */
type Request = { readonly sentAtMs: number; readonly answeredAtMs: number }

/** A record by its natural key; equal digests are equal records. */
export type HeldRecord = {
  readonly key: string
  readonly digest: string
  readonly startMs: number
  readonly endMs: number
}

/** The service answered a window of a stream with these records. */
export type Reading = Request & {
  readonly kind: 'reading'
  readonly profile: string
  readonly stream: string
  readonly startMs: number
  readonly endMs: number
  readonly records: readonly HeldRecord[]
}

/** A request for a token. `name`: the person, or `account`. `spent`: digest of the refresh token in the request. */
export type TokenCall = Request & {
  readonly kind: 'token'
  readonly name: string
  readonly call: 'account' | 'profile' | 'refresh'
  readonly spent?: string | undefined
  readonly outcome: Outcome
}

type Erasure = {
  readonly kind: 'erasure'
  readonly profile: string
  readonly profileId: string
  readonly outcome: Outcome
  readonly atMs: number
}

/** An attempt to bring a person back who was erased before. */
type Revival = { readonly kind: 'revival'; readonly profile: string; readonly added: boolean }

export type InjectedFault = {
  readonly kind: 'fault'
  readonly fault: FaultName
  readonly target: string
  readonly atMs: number
  readonly endedAtMs: number
  /** The effect was seen: the process was gone, bytes were swallowed, the disk took no byte more. */
  readonly fired: boolean
}

/** One profile's stream in one snapshot of the warehouse, taken while the faults went on. */
export type Snapshot = StoredStream & {
  readonly kind: 'snapshot'
  readonly profile: string
  readonly atMs: number
}

export type StoredStream = {
  readonly stream: string
  readonly covered: readonly (readonly [number, number])[]
  readonly records: readonly HeldRecord[]
}

/** Whether the fleet came to rest after the last fault. `left`: what was not done yet. */
type Rest = {
  readonly kind: 'rest'
  readonly reached: boolean
  readonly rounds: number
  readonly tookMs: number
  readonly left: string
}

/** A row that a trigger of the harness wrote in a transaction of the fleet; a rollback takes it back. In the order of `n`. */
export type Witnessed = WitnessedRecord | WitnessedReading | WitnessedRefusal | WitnessedOrder | WitnessedToken

type WitnessedRow = { readonly n: number; readonly atMs: number; readonly profileId: string }

/** A record was stored, replaced or marked gone. */
export type WitnessedRecord = WitnessedRow & {
  readonly kind: 'record'
  readonly stream: string
  readonly record: HeldRecord
  readonly gone: boolean
  readonly readAtMs: number
}

/** A ledger row was written: the readings that it knew then. `touched`: by a push. `grew`: time is covered that was not. */
export type WitnessedReading = WitnessedRow & {
  readonly kind: 'ledger'
  readonly stream: string
  readonly recent: readonly (readonly [startMs: number, endMs: number, sentAtMs: number])[]
  readonly touched: boolean
  readonly grew: boolean
}

/** A window was refused: by upstream, or by the warehouse. */
type WitnessedRefusal = WitnessedRow & {
  readonly kind: 'refusal'
  readonly stream: string
  readonly reason: string
}

export type WitnessedOrder = WitnessedRow & { readonly kind: 'order'; readonly run: string; readonly ended: boolean }

/** `save`: a new generation. The account's own token has the profileId `account`. */
export type WitnessedToken = WitnessedRow & {
  readonly kind: 'token'
  readonly step: 'lease' | 'save' | 'release' | 'erase'
  readonly generation: number
  readonly leaseUntilMs: number | null
  /** The end of the lease that the row had before; null without one. */
  readonly formerUntilMs: number | null
}

/** The warehouse and the service after the fleet has come to rest. */
export type FinalState = {
  readonly profiles: readonly FinalProfile[]
  /** The items of the harness that the service holds. */
  readonly upstreamItems: ReadonlyArray<ItemVersion & { readonly profile: string }>
  readonly upstreamProfiles: readonly string[]
  /** Rows, in any table of the warehouse or its queue, that name an erased person. */
  readonly rowsOfErased: ReadonlyArray<{ readonly profile: string; readonly table: string; readonly rows: number }>
  readonly runs: readonly FinalRun[]
  readonly waitingItems: number
  readonly quarantined: number
  readonly witnessed: readonly Witnessed[]
}

export type FinalProfile = {
  readonly profile: string
  readonly profileId: string
  readonly wanted: readonly [number, number]
  readonly streams: ReadonlyArray<StoredStream & { readonly served: readonly HeldRecord[] }>
  /** The streams without windows. */
  readonly snapshots: ReadonlyArray<Omit<StoredStream, 'covered'> & { readonly served: readonly HeldRecord[] }>
}

export type FinalRun = {
  readonly run: string
  readonly kind: string
  readonly state: string
  readonly slotAt: string | null
  readonly enqueued: number
  readonly ended: number
}

export type History = { add(event: HistoryEvent): void; readonly events: readonly HistoryEvent[]; close(): void }

/** Appends each event to the file at once: a harness that dies leaves what it saw. */
export async function openHistory(folder: string): Promise<History> {
  await mkdir(folder, { recursive: true })
  const file = openSync(historyFile(folder), 'w')
  const events: HistoryEvent[] = []
  return {
    events,
    add(event) {
      events.push(event)
      writeSync(file, `${JSON.stringify(event)}\n`)
    },
    close: () => closeSync(file),
  }
}

const historyFile = (folder: string) => join(folder, 'history.jsonl')
export const finalStateFile = (folder: string) => join(folder, 'final-state.json')
