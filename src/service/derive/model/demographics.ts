import { DAY } from '../../../base/time/units.ts'

/** The demographics of a person, as far as the model needs them. */
export type Demographics = {
  readonly birthDate: string | null
  readonly age: number | null
  readonly gender: string | null
}

export type Sex = 'Female' | 'Male'

export function sexOf({ gender }: Demographics): Sex | null {
  return gender === 'Female' || gender === 'Male' ? gender : null
}

/** Completed years on a local day. A stated birth date is preferred to a stated age. */
export function ageOn({ birthDate, age }: Demographics, day: number): number | null {
  if (birthDate === null) return age
  const [year, month, date] = birthDate.split('-').map(Number)
  const now = new Date(day * DAY)
  const hadBirthday = (now.getUTCMonth() + 1 - (month ?? 1)) * 40 + (now.getUTCDate() - (date ?? 1)) >= 0
  const years = now.getUTCFullYear() - (year ?? 0) - (hadBirthday ? 0 : 1)
  return years >= 0 && years <= 130 ? years : null
}
