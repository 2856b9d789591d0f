import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OperationName } from '../../../base/contract/operations.ts'
import type { FaultName } from './fault-catalogue.ts'
import type { FaultRule } from './fault-rules.ts'

/** The end of a request: its status; or the connection was reset, the body was cut, or the caller disconnected. */
export type JournalOutcome = `${number}` | 'reset' | 'cut' | 'aborted'

type JournalEntry = {
  at: string
  operation: OperationName
  /** Undefined unless it is a sample profile. */
  profile: string | undefined
  outcome: JournalOutcome
  faults: FaultName[]
  durationMs: number
}

export type Journal = ReturnType<typeof createJournal>

type JournalCounts = {
  requests: number
  /** Calls of the operations that issue tokens, with any outcome. */
  tokenCalls: number
  operations: Partial<Record<OperationName, Partial<Record<JournalOutcome, number>>>>
}

const journalEntriesMax = 10_000

const tokenOperations: readonly OperationName[] = ['accountToken', 'profileToken', 'refreshToken']

/** Counts all requests and keeps the entries of the last ten thousand. */
export function createJournal() {
  let entries: JournalEntry[] = []
  let counts: JournalCounts = { requests: 0, tokenCalls: 0, operations: {} }
  return {
    add(entry: JournalEntry) {
      entries.push(entry)
      if (entries.length >= journalEntriesMax * 2) entries = entries.slice(-journalEntriesMax)
      counts.requests += 1
      if (tokenOperations.includes(entry.operation)) counts.tokenCalls += 1
      const byOutcome = counts.operations[entry.operation] ?? {}
      byOutcome[entry.outcome] = (byOutcome[entry.outcome] ?? 0) + 1
      counts.operations[entry.operation] = byOutcome
    },
    /** Counts of requests so far: in total, and by operation and outcome. */
    read: () => structuredClone(counts),
    /** The newest entries, oldest first. */
    last: (count: number) => (count > 0 ? entries.slice(-Math.min(count, journalEntriesMax)) : []),
    clear() {
      entries = []
      counts = { requests: 0, tokenCalls: 0, operations: {} }
    },
  }
}

/** A request to one of the 28 operations, with the rules that strike it. */
export type TrackedRequest = {
  operation: OperationName
  profile: string | undefined
  rules: Map<FaultName, FaultRule>
  /** The faults that strike the frame of the answer; undefined until they are selected. */
  frame?: ReadonlySet<FaultName>
  /** Set when a fault decides how the request ends. */
  outcome?: JournalOutcome
  /** Sent by the sandbox itself: only faults of what is true apply, and the journal does not count it. */
  isInternal: boolean
}

export type RequestScope = { tracked: TrackedRequest; request: FastifyRequest; reply: FastifyReply }
