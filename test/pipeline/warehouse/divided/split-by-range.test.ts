import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createDivision } from '../../../../src/pipeline/warehouse/divided/division.ts'

test('items are split by range: each once, in their former order, and no part is empty', () => {
  const ids = fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 60 })
  fc.assert(
    fc.property(ids, fc.integer({ min: 1, max: 16 }), (drawn, count) => {
      const items = drawn.map((id, index) => ({ profileId: String(id), index }))
      const division = createDivision(count)
      const parts = division.split(items, ({ profileId }) => profileId)
      expect(parts.flat().toSorted((a, b) => a.index - b.index)).toEqual(items)
      for (const part of parts) {
        expect(part.length).toBeGreaterThan(0)
        expect(new Set(part.map(({ profileId }) => division.keyOf(profileId))).size).toBe(1)
        expect(part).toEqual(part.toSorted((a, b) => a.index - b.index))
      }
      expect(parts).toHaveLength(new Set(items.map(({ profileId }) => division.keyOf(profileId))).size)
    }),
    { seed: 20261124, numRuns: 300 },
  )
})

test('with one range no id is looked at, and the result is not the given list itself', () => {
  const unread = () => expect.unreachable()
  const several = [1, 2, 3]

  expect(createDivision(4).split([], unread)).toEqual([])
  expect(createDivision(1).split([], unread)).toEqual([])
  expect(createDivision(1).split(several, unread)).toEqual([[1, 2, 3]])
  expect(createDivision(1).split(several, unread)[0]).not.toBe(several)
  expect(createDivision(1).keyOf('not even a number')).toBe(0)
})
