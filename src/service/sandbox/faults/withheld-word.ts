import { DERIVATION_STATE_HEADER } from '../../../base/contract/derivation-state.ts'
import { type FaultName, faultCatalogue } from './fault-catalogue.ts'
import type { FaultRule } from './fault-rules.ts'
import type { RequestScope } from './tracked-request.ts'

/** Faults that change which records are true later, without a change of the revision. */
const laterFaults: readonly FaultName[] = ['late', 'revised', 'vanished']

type AnsweredScope = RequestScope & { rules: readonly FaultRule[] }

/**
 * A tag stands for the records as the service derived them. An answer whose records a fault alters has no tag, and a tag
 * that the caller holds from before the fault does not count.
 */
export function ignoreHeldTag({ tracked, request, rules }: AnsweredScope): void {
  if (altersRecords(tracked, rules)) delete request.headers['if-none-match']
}

/** An answer to which records are added or from which records are taken, without a derivation, has no word about the derivation either. */
export function withholdWord({ tracked, reply, rules }: AnsweredScope): void {
  if (altersRecords(tracked, rules)) reply.removeHeader('etag')
  if (rules.some(({ name }) => laterFaults.includes(name))) reply.removeHeader(DERIVATION_STATE_HEADER)
}

function altersRecords(tracked: RequestScope['tracked'], rules: readonly FaultRule[]): boolean {
  return rules.length > 0 || [...tracked.rules.keys()].some((name) => faultCatalogue[name].when === 'records')
}
