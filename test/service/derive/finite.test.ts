import fc from 'fast-check'
import { expect, test } from 'vitest'
import { valueBoundsOf } from '../../../src/base/contract/log-value-bounds.ts'
import type { DataLog } from '../../../src/service/derive/day/parsed-log.ts'
import { anyLogs, asOfMs } from './arbitrary-logs.ts'
import { derive } from './derive-at-once.ts'
import { profileId } from './made-logs.ts'

/** Everywhere in a value: numbers that JSON has no word for, and texts that were made of them. */
function nonNumbersIn(value: unknown, path = ''): string[] {
  if (typeof value === 'number') return Number.isFinite(value) ? [] : [`${path} ${value}`]
  if (typeof value === 'string') return /NaN|Infinity/.test(value) ? [`${path} ${value}`] : []
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([name, inner]) => nonNumbersIn(inner, `${path}.${name}`))
}

const person = { birthDate: '1980-03-20', age: null, gender: 'Female' }
const isServedFinite = (logs: DataLog[]) => {
  expect(nonNumbersIn(derive({ logs, asOfMs, demographics: person, profileId }))).toEqual([])
}

const withValues = (valuesOf: (dataType: string) => readonly number[]) =>
  anyLogs.chain((logs) =>
    fc.array(fc.nat({ max: 9 }), { minLength: logs.length, maxLength: logs.length }).map((turns) =>
      logs.map((log, at) => {
        const values = valuesOf(log.dataType)
        return { ...log, value: values[turns[at] ?? 0] ?? log.value }
      }),
    ),
  )

test('no served number is beyond all numbers, whatever values are accepted', () => {
  const extremes = withValues((dataType) => {
    const [low, high] = valueBoundsOf(dataType)
    return [low, high, 0, Number.MIN_VALUE]
  })
  fc.assert(fc.property(extremes, isServedFinite), { numRuns: 40 })
})

test('nor a stored value beyond the bounds of its data type', () => {
  const extremes = withValues(() => [Number.MAX_VALUE, -Number.MAX_VALUE, 1.7e308, 1e200])
  fc.assert(fc.property(extremes, isServedFinite), { numRuns: 40 })
})
