import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OperationName } from '../../../base/contract/operations.ts'
import type { FaultName } from './fault-catalogue.ts'
import type { FaultRule } from './fault-rules.ts'
import type { JournalOutcome } from './journal.ts'

/** A request to one of the 28 operations, with the rules that strike it. */
export type TrackedRequest = {
  operation: OperationName
  profile: string | undefined
  rules: Map<FaultName, FaultRule>
  /** Set when a fault decides how the request ends. */
  outcome?: JournalOutcome
  /** Sent by the sandbox itself: only faults of what is true apply, and the journal does not count it. */
  isInternal: boolean
}

export type RequestScope = { tracked: TrackedRequest; request: FastifyRequest; reply: FastifyReply }
