import { namedUuid } from '../../named-uuid.ts'
import { SECOND } from '../../window.ts'
import { dayText, isoAt, midnightAt } from './local-time.ts'

export type Kind = 'score' | 'biomarker' | 'archetype' | 'trend' | 'comparison'

/**
 * A record before it is known whether it is new: everything but `createdAt` and `version`, which belong to the record's
 * life in the store and not to what the logs say. `unit` names what it is derived by: a day, a week or a month.
 */
export type Draft = {
  readonly kind: Kind
  readonly id: string
  readonly name: string
  readonly category: string | null
  readonly periodicity: string | null
  readonly unit: string
  readonly startAt: number
  readonly endAt: number
  readonly body: Readonly<Record<string, unknown>>
}

/** What the record is served as. */
export function served(draft: Draft, life: { createdAt: string; version: number }): Record<string, unknown> {
  if (draft.kind === 'score') return { ...draft.body, createdAt: life.createdAt, version: life.version }
  return draft.kind === 'archetype' ? { ...draft.body, version: life.version } : draft.body
}

const namespace = '1b0f6a5e-0f0f-5d1c-9c55-4d0f6b8f7a10'

/** The same for the same profile, kind, name, local start and periodicity, however often it is derived. */
export function recordId(profileId: string, parts: readonly string[]): string {
  return namedUuid(namespace, [profileId, ...parts])
}

export const dayUnit = (day: number) => `day ${dayText(day)}`
export const comparedUnit = (day: number) => `compared ${dayText(day)}`
export const weekUnit = (monday: number) => `week ${dayText(monday)}`
export const monthUnit = (first: number) => `month ${dayText(first)}`

export type Period = {
  readonly startAt: number
  readonly endAt: number
  readonly startDateTime: string
  readonly endDateTime: string
}

/** From the first second of one local day to the last of another. */
export function wholeDays(first: number, last: number, offset: number): Period {
  return periodOf(midnightAt(first, offset), midnightAt(last + 1, offset) - SECOND, offset)
}

export function periodOf(startAt: number, endAt: number, offset: number): Period {
  return { startAt, endAt, startDateTime: isoAt(startAt, offset), endDateTime: isoAt(endAt, offset) }
}
