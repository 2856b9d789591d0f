import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { instantSchema, storableInstantSchema } from '../../../src/base/contract/instant-schemas.ts'
import { parseInstant } from '../../../src/base/time/instant.ts'

/** The date-times that the OpenAPI document declares are the date-times that are read: a client that goes by it is never refused for it. */
const patternOf = (schema: z.ZodType) => new RegExp(String(z.toJSONSchema(schema).pattern), 'u')
const [any, written] = [patternOf(instantSchema), patternOf(storableInstantSchema)]
const isLeapDay = (text: string) => text.slice(5, 10) === '02-29'

test('every date-time that the pattern takes is read, but 29 February of a year that has none', () => {
  fc.assert(
    fc.property(fc.stringMatching(any), (text) => {
      fc.pre(!isLeapDay(text))
      expect(parseInstant(text), text).toBeDefined()
    }),
    { seed: 20261120, numRuns: 2000 },
  )
})

const part = (max: number) => fc.integer({ min: 0, max }).map((value) => String(value).padStart(2, '0'))

test('the common forms, which have a way of their own, are read and refused as the same with a fraction of zero', () => {
  const century = fc.constantFrom('00', '01', '19', '20', '99', '2:', ' 2')
  const offset = fc.constantFrom(
    'Z',
    'z',
    '+00:00',
    '-00:00',
    '+05:45',
    '-09:30',
    '+13:60',
    '-14:00',
    '+14:01',
    '+1:000',
  )
  const misplaced = fc.tuple(fc.integer({ min: 0, max: 40 }), fc.constantFrom('-', ':', 'T', 't', ' '))
  const parts = fc.tuple(century, part(99), part(13), part(32), part(25), part(61), part(61), offset, misplaced)
  fc.assert(
    fc.property(parts, ([century, year, month, day, hour, minute, second, offset, [at, sign]]) => {
      const whole = `${century}${year}-${month}-${day}T${hour}:${minute}:${second}${offset}`
      const text = at < whole.length ? whole.slice(0, at) + sign + whole.slice(at + 1) : whole
      expect(parseInstant(text), text).toEqual(parseInstant(`${text.slice(0, 19)}.0${text.slice(19)}`))
    }),
    { seed: 20261126, numRuns: 20_000 },
  )
})

test('every date-time that is read fits the pattern', () => {
  const parts = fc.tuple(
    fc.integer({ min: 0, max: 9999 }).map((year) => String(year).padStart(4, '0')),
    fc.tuple(part(13), part(32)),
    fc.tuple(part(25), part(61), part(61)),
    fc.constantFrom('', '.5', ',123456789', '.1234567890'),
    fc.constantFrom('', 'Z', 'z', '+12', '-0930', '+14:00', '+14:01', '+13:59', '-15:00', '+5'),
  )
  const forms = parts.chain(([year, date, time, fraction, offset]) =>
    fc.constantFrom(
      `${year}-${date.join('-')}`,
      `${year}-${date.join('-')}T${time.slice(0, 2).join(':')}${offset}`,
      `${year}-${date.join('-')}t${time.join(':')}${fraction}${offset}`,
    ),
  )
  fc.assert(
    fc.property(forms, (text) => {
      if (parseInstant(text) !== undefined) expect(any.test(text), text).toBe(true)
      if (storableInstantSchema.safeParse(text).success) expect(written.test(text), text).toBe(true)
    }),
    { seed: 20261120, numRuns: 20_000 },
  )
})
