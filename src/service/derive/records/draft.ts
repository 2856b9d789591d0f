import type { DerivedKind } from '../../../base/contract/derivation-state.ts'
import { namedUuid } from '../../../base/text/digest.ts'
import { dayText, isoText, midnightMs } from '../../../base/time/local-time.ts'
import type { Span } from '../../../base/time/spans.ts'
import { SECOND } from '../../../base/time/units.ts'

/**
 * A record before it is known whether it is new: everything but `createdAt` and `version`, which follow from the stored
 * record and not from the logs. `derivationUnit` is the day, the week or the month by which it is derived. `body` is
 * served as it is, and its text is compared with the stored text: the order of its keys counts.
 */
export type Draft = {
  readonly kind: DerivedKind
  readonly id: string
  readonly name: string
  readonly category: string | null
  readonly periodicity: string | null
  readonly derivationUnit: string
  readonly startMs: number
  readonly endMs: number
  readonly body: Readonly<Record<string, unknown>>
}

/** The body as it is served. */
export function servedBody(
  { kind, body }: Draft,
  { createdAt, version }: { createdAt: string; version: number },
): Record<string, unknown> {
  if (kind === 'score') return { ...body, createdAt, version }
  return kind === 'archetype' ? { ...body, version } : body
}

const namespace = '1b0f6a5e-0f0f-5d1c-9c55-4d0f6b8f7a10'

/** The id of a record: the same for the same profile, kind, name, local start and periodicity, however often it is derived. */
export function recordId(profileId: string, parts: readonly string[]): string {
  return namedUuid(namespace, [profileId, ...parts])
}

type DraftInput = Pick<Draft, 'kind' | 'derivationUnit'> & {
  readonly profileId: string
  readonly span: Span
  /** The parts that distinguish this record from all others of its kind and profile. */
  readonly idParts: readonly string[]
  readonly body: Draft['body'] & {
    readonly name?: string
    readonly type?: string
    readonly category?: string
    readonly periodicity?: string
  }
}

/** A draft with its id, which is also the first member of its body. A body without a name is called by its type. */
export function draftOf({ profileId, idParts, span, body, ...rest }: DraftInput): Draft {
  const id = recordId(profileId, [rest.kind, ...idParts])
  const { type = '', name = type, category = null, periodicity = null } = body
  return { ...rest, id, name, category, periodicity, startMs: span.startMs, endMs: span.endMs, body: { id, ...body } }
}

export const dayUnit = (day: number) => `day ${dayText(day)}`
export const comparedUnit = (day: number) => `compared ${dayText(day)}`
export const weekUnit = (monday: number) => `week ${dayText(monday)}`
export const monthUnit = (first: number) => `month ${dayText(first)}`

export type DatedSpan = Span & { readonly startDateTime: string; readonly endDateTime: string }

/** From the first second of one local day to the last second of another. */
export function datedDays(first: number, last: number, offset: number): DatedSpan {
  return datedSpan(midnightMs(first, offset), midnightMs(last + 1, offset) - SECOND, offset)
}

export function datedSpan(startMs: number, endMs: number, offset: number): DatedSpan {
  return { startMs, endMs, startDateTime: isoText(startMs, offset), endDateTime: isoText(endMs, offset) }
}
