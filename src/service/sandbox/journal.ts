import type { OperationName } from '../../contract/operations.ts'
import type { FaultName } from './faults/catalogue.ts'

/** How a request ended: its status, or that the connection was reset, the body cut, or the caller gone before the end. */
export type Outcome = `${number}` | 'reset' | 'cut' | 'aborted'

export type Entry = {
  at: string
  operation: OperationName
  profile: string | undefined
  outcome: Outcome
  faults: FaultName[]
  durationMs: number
}

export type Journal = {
  add(entry: Entry): void
  /** What was asked so far: in all, and by operation and outcome. */
  read(): JournalReading
  /** The newest entries, oldest first. */
  last(entries: number): Entry[]
  clear(): void
}

export type JournalReading = {
  requests: number
  /** Calls that were made for a token, however they ended. */
  tokenCalls: number
  operations: Partial<Record<OperationName, Partial<Record<Outcome, number>>>>
}

export const entriesMax = 10_000

const tokenOperations: readonly OperationName[] = ['accountToken', 'profileToken', 'refreshToken']

/** Counts everything and remembers the last ten thousand requests. */
export function createJournal(): Journal {
  let entries: Entry[] = []
  let reading: JournalReading = { requests: 0, tokenCalls: 0, operations: {} }
  return {
    add(entry) {
      entries.push(entry)
      if (entries.length >= entriesMax * 2) entries = entries.slice(-entriesMax)
      reading.requests += 1
      if (tokenOperations.includes(entry.operation)) reading.tokenCalls += 1
      const counts = reading.operations[entry.operation] ?? {}
      counts[entry.outcome] = (counts[entry.outcome] ?? 0) + 1
      reading.operations[entry.operation] = counts
    },
    read: () => structuredClone(reading),
    last: (wanted) => (wanted > 0 ? entries.slice(-Math.min(wanted, entriesMax)) : []),
    clear() {
      entries = []
      reading = { requests: 0, tokenCalls: 0, operations: {} }
    },
  }
}
