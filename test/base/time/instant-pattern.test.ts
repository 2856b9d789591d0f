import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { instantSchema, parseInstant, storableInstantSchema } from '../../../src/base/time/instant.ts'

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

test('every date-time that is read fits the pattern', () => {
  const part = (max: number) => fc.integer({ min: 0, max }).map((value) => String(value).padStart(2, '0'))
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
