import { expect, test } from 'vitest'
import { z } from 'zod'
import { pulledStreams, pushedStreams } from '../../config/streams.ts'
import { fittingValues } from '../../src/dashboard/routes/quarantine-routes.ts'

const schema = z.object({
  kind: z.enum(['a', 'b']),
  share: z.number().min(0).max(1).nullish(),
  parts: z.array(z.object({ name: z.string().min(1).max(9), at: z.int() })).optional(),
})

test('the values that fit are described with type, choice and bounds, at the place of the fault', () => {
  expect(fittingValues(schema, 'kind')).toEqual([{ name: 'kind', required: true, text: 'one of a, b' }])
  expect(fittingValues(schema, 'share')).toEqual([
    { name: 'share', required: false, text: 'number from 0 to 1 or null' },
  ])
  expect(fittingValues(schema, 'parts.3.name')).toEqual([
    { name: 'name', required: true, text: 'text of 1 to 9 characters' },
  ])
  expect(fittingValues(schema, 'parts.3')).toEqual([
    { name: 'name', required: true, text: 'text of 1 to 9 characters' },
    { name: 'at', required: true, text: 'whole number' },
  ])
  expect(fittingValues(schema, '').map(({ name, required }) => [name, required])).toEqual([
    ['kind', true],
    ['share', false],
    ['parts', false],
  ])
  expect(fittingValues(schema, 'share.nope')).toEqual([])
  expect(fittingValues(schema, '[7].kind')).toEqual(fittingValues(schema, 'kind'))
})

test('every stream describes its fitting values, and a date-time by an example instead of its pattern', () => {
  for (const { schema: one } of [...pulledStreams, ...pushedStreams]) {
    const fields = fittingValues(one, '')
    expect(fields.length).toBeGreaterThan(2)
    expect(fields.filter(({ text }) => text.length > 300)).toEqual([])
  }
  expect(fittingValues(pulledStreams[0].schema, 'scoreDateTime')[0]?.text).toMatch(/^date-time, such as 2026/)
})
