import { describe, expect, test } from 'vitest'
import { UsageProblem } from '../../../src/base/errors.ts'
import { correlationOverAll, correlationWithin, ranksOf } from '../../../src/service/evaluate/correlations.ts'
import { parseReferenceFigures } from '../../../src/service/evaluate/reference-file.ts'
import { createSeededRandom } from '../../../src/service/sandbox/people/seeded-random.ts'

const seeded = () => {
  const random = createSeededRandom('correlations')
  return () => random.next()
}
const pairs = (references: readonly number[], derived: readonly number[]) =>
  references.map((reference, index) => ({ reference, derived: derived[index] ?? 0 }))
const tenDays = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]

describe('Spearman’s ρ', () => {
  test('equal values share the mean of their ranks', () => {
    expect(ranksOf([30, 10, 10, 20]).map((rank) => rank * 4)).toEqual([3, 0.5, 0.5, 2])
  })
  test('equals the worked example of ten pairs with swapped neighbours', () => {
    // Ranks 1 to 10 against 2 1 4 3 6 5 8 7 10 9: every d is 1, 1 - 6 × 10 / (10 × 99) = 0.93939.
    const [one] = [pairs(tenDays, [2, 1, 4, 3, 6, 5, 8, 7, 10, 9])]
    expect(correlationOverAll([one], seeded()).rho).toBeCloseTo(0.93939, 5)
    expect(correlationWithin([one], seeded())).toMatchObject({ n: 10, persons: 1, from: null, upTo: null })
  })
  test('within persons does not see what differs between them, over all does', () => {
    // Each person's days run against the reference, and the person with the higher reference has the higher values.
    const persons = Array.from({ length: 6 }, (_, person) =>
      pairs(
        tenDays.map((day) => 100 * person + day),
        tenDays.map((day) => 100 * person - day),
      ),
    )
    expect(correlationWithin(persons, seeded()).rho).toBeCloseTo(-1, 10)
    expect(correlationOverAll(persons, seeded()).rho).toBeGreaterThan(0.9)
  })
  test('persons count by their days, and those with fewer than ten not at all', () => {
    const up = pairs(
      [...tenDays, ...tenDays.map((day) => day + 10), ...tenDays.map((day) => day + 20)],
      [...tenDays, ...tenDays.map((day) => day + 10), ...tenDays.map((day) => day + 20)],
    )
    const down = pairs(tenDays, tenDays.toReversed())
    // (30 × 1 - 10 × 1) / 40.
    expect(correlationWithin([up, down, down.slice(1)], seeded())).toMatchObject({ rho: 0.5, n: 40, persons: 2 })
  })
  test('is unknown below ten pairs, and where one side never varies', () => {
    expect(correlationOverAll([pairs(tenDays.slice(1), tenDays.slice(1))], seeded()).rho).toBeNull()
    expect(
      correlationOverAll(
        [
          pairs(
            tenDays,
            tenDays.map(() => 1),
          ),
        ],
        seeded(),
      ).rho,
    ).toBeNull()
  })
  test('its interval holds a known relation, is narrower with more people, and the same for the same seed', () => {
    const random = createSeededRandom('relation')
    // Common variance of half: Pearson 0.5, Spearman 6 / π × asin(0.25) = 0.4826.
    const people = (count: number) =>
      Array.from({ length: count }, () =>
        Array.from({ length: 30 }, () => {
          const common = random.normal(0, 1)
          return { reference: common + random.normal(0, 1), derived: common + random.normal(0, 1) }
        }),
      )
    const [few, many] = [people(10), people(60)]
    const [wide, narrow] = [correlationOverAll(few, seeded()), correlationOverAll(many, seeded())]
    for (const { from, upTo } of [wide, narrow]) {
      expect(from).toBeLessThan(0.4826)
      expect(upTo).toBeGreaterThan(0.4826)
    }
    expect((narrow.upTo ?? 0) - (narrow.from ?? 0)).toBeLessThan(((wide.upTo ?? 0) - (wide.from ?? 0)) * 0.7)
    expect(correlationOverAll(many, seeded())).toEqual(narrow)
  })
})

describe('a file of reference figures', () => {
  test('is CSV with four columns in any order', () => {
    expect(parseReferenceFigures('name,value,externalId,date\nrecovery, 3.5 ,ada,2026-07-11\n')).toEqual([
      { externalId: 'ada', date: '2026-07-11', name: 'recovery', value: 3.5 },
    ])
  })
  test.each([
    ['externalId,date,value\nada,2026-07-11,3', 'no column name'],
    ['externalId,date,name,value\nada,11.7.2026,recovery,3', 'line 2 has no date'],
    ['externalId,date,name,value\nada,2026-07-11,recovery,much', 'line 2 has no value'],
    ['externalId,date,name,value\nada,2026-07-11,recovery,', 'line 2 has no value'],
    ['externalId,date,name,value\n,2026-07-11,recovery,3', 'line 2 has no externalId'],
    ['externalId,date,name,value\nada,2026-07-11,"recovery,3', 'the file is no CSV'],
  ])('%s is refused, without its values: %s', (text, says) => {
    expect(() => parseReferenceFigures(text)).toThrow(UsageProblem)
    expect(() => parseReferenceFigures(text)).toThrow(says)
    expect(() => parseReferenceFigures(text)).not.toThrow(/ada|much/)
  })
})
