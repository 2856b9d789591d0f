/**
 * A log as derivation reads it: instants in epoch milliseconds, each with the offset (minutes east of UTC) it was
 * written in, because the offset is what tells which local day it belongs to.
 */
export type Log = {
  readonly id: string
  readonly parentId: string | null
  readonly dataType: string
  readonly value: number
  readonly unit: string
  readonly source: string
  readonly recordingMethod: string
  readonly deviceType: string
  readonly deviceId: string | null
  readonly periodicity: 'hourly' | 'daily' | null
  readonly startAt: number
  readonly endAt: number
  readonly startOffset: number
  readonly endOffset: number
  readonly modifiedAt: number | null
}

/** Who the logs are of, as far as the model asks. */
export type Person = {
  readonly birthDate: string | null
  readonly age: number | null
  readonly gender: string | null
}

export const unknownPerson: Person = { birthDate: null, age: null, gender: null }

/** Listens to what became of each log. Derivation is the same with and without a listener. */
export type Trace = {
  used(log: Log, as: string, amount: number): void
  left(log: Log, as: string, reason: string): void
}

export type Sex = 'Female' | 'Male'

export function sexOf(person: Person): Sex | null {
  return person.gender === 'Female' || person.gender === 'Male' ? person.gender : null
}

/** Completed years on a local day (days since 1970-01-01); a stated birth date is better than a stated age. */
export function ageOn(person: Person, day: number): number | null {
  if (person.birthDate === null) return person.age
  const [year, month, date] = person.birthDate.split('-').map(Number)
  const now = new Date(day * 86_400_000)
  const had = (now.getUTCMonth() + 1 - (month ?? 1)) * 40 + (now.getUTCDate() - (date ?? 1)) >= 0
  const age = now.getUTCFullYear() - (year ?? 0) - (had ? 0 : 1)
  return age >= 0 && age <= 130 ? age : null
}
