import { z } from 'zod'
import { isStorable, isStorableDay, parseInstant } from '../time/instant.ts'

export const instantDescription = 'ISO 8601 date-time; without an offset it is UTC, a date alone is its midnight in UTC'

/** The date-times that `parseInstant` accepts, as a JSON schema says it. The pattern allows 29 February in every year. */
function patternOf(year: string): string {
  const day = '(0[1-9]|[12][0-9]'
  const date = `((0[13578]|1[02])-${day}|3[01])|(0[469]|11)-${day}|30)|02-${day}))`
  const time = '([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.,][0-9]{1,9})?)?'
  const offset = '([Zz]|[+-](0[0-9]|1[0-3])(:?[0-5][0-9])?|[+-]14(:?00)?)'
  return `^${year}-${date}([Tt]${time}${offset}?)?$`
}

const notAnInstant = 'must be an ISO 8601 date-time such as 2026-07-11T00:00:00+12:00'

/** A date-time, kept as the text that was sent. */
export const instantSchema = z
  .string({ error: notAnInstant })
  .max(40, { error: notAnInstant })
  .refine((text) => parseInstant(text) !== undefined, { error: notAnInstant })
  .meta({ description: instantDescription, pattern: patternOf('(000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})') })

/** A date-time that may be stored: within the centuries in which a person's health can have been measured. */
export const storableInstantSchema = instantSchema
  .refine(
    (text) => {
      const instant = parseInstant(text)
      return instant === undefined || isStorable(instant)
    },
    { error: 'must lie between the years 1900 and 2199' },
  )
  .meta({ description: `${instantDescription}; from 1900 to 2199`, pattern: patternOf('(19|2[01])[0-9]{2}') })

/** A day of a person, of the same centuries. */
export const storableDaySchema = z
  .string()
  .refine(isStorableDay, { error: 'must be a day such as 2026-07-11, from 1900 to 2199' })

/** A date-time as the service writes it: always with an offset. */
export const answeredInstantSchema = z.iso.datetime({ offset: true })
