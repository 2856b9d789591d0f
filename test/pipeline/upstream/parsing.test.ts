import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { pulledStreams } from '../../../config/streams.ts'
import { dataLogInputSchema } from '../../../src/base/contract/data-log.ts'
import { quickChecks } from '../../../src/base/contract/quick-check.ts'
import { Rejected } from '../../../src/base/errors.ts'
import { HOUR } from '../../../src/base/time/units.ts'
import type { PulledStream } from '../../../src/pipeline/transfer/stream.ts'
import { elementBoundsOf, ListScanner } from '../../../src/pipeline/upstream/list-scanner.ts'
import { itemFaultsByIndex } from '../../../src/pipeline/upstream/push-items.ts'
import { RecordCollector } from '../../../src/pipeline/upstream/record-collector.ts'
import { retryAfterMsOf } from '../../../src/pipeline/upstream/retry-after.ts'
import { demographics } from '../../support/stream-by-name.ts'

const space = fc.constantFrom('', ' ', '\n', '\t \r\n')

function scan(pieces: readonly string[]): string[] {
  const found: string[] = []
  const scanner = new ListScanner((raw) => found.push(raw))
  for (const piece of pieces) scanner.push(piece)
  scanner.end()
  return found
}

describe('cutting a list into records', () => {
  test('gives every element as it was written, wherever the pieces break', () => {
    fc.assert(
      fc.property(
        fc.array(fc.json({ maxDepth: 3, stringUnit: 'grapheme' })),
        space,
        space,
        fc.array(fc.nat(200)),
        (elements, before, after, cuts) => {
          const text = `${before}[${elements.map((element) => before + element + after).join(',')}]${after}`
          const pieces: string[] = []
          let from = 0
          for (const length of cuts) {
            pieces.push(text.slice(from, from + length))
            from += length
          }
          pieces.push(text.slice(from))

          const whole = new RecordCollector(demographics)
          whole.addList(Buffer.from(text))
          const records = [...whole.records, ...whole.invalid].map(({ raw }) => raw)

          expect(records.toSorted()).toEqual(elements.map((element) => element.trim()).toSorted())
          expect(scan(pieces)).toEqual(elements.map((element) => element.trim()))
          expect(scan([text]).map((raw) => JSON.parse(raw))).toEqual(JSON.parse(text))
        },
      ),
      { numRuns: 500 },
    )
  })

  test.for([
    ['the list does not end', ['', '[', '[1', '[1,', '[[1]', '["a]']],
    ['an element is missing', ['[1,]', '[,1]']],
    ['something stands beside the list', ['{}', '[1]]', '[1] x', '[1][2]', '1', '"[]"', 'null']],
    ['the list does not end as one', ['[1}']],
  ] as const)('a text that is no list is refused, because %s', ([reason, texts]) => {
    for (const text of texts) expect(() => scan([text]), text).toThrow(new SyntaxError(reason))
  })

  test('the mark of a byte order may stand before the list', () => {
    expect(scan(['\ufeff[1]'])).toEqual(['1'])
  })

  test('the bounds of a list that was parsed cut out the same elements', () => {
    fc.assert(
      fc.property(
        fc.array(fc.json({ maxDepth: 3, stringUnit: 'grapheme' }), { minLength: 1 }),
        space,
        (elements, gap) => {
          const list = Buffer.from(`${gap}[${elements.map((element) => gap + element).join(',')}${gap}]`)
          const bounds = elementBoundsOf(list)
          const cut = elements.map((_, index) => list.toString('utf8', bounds[2 * index], bounds[2 * index + 1]).trim())

          expect(bounds).toHaveLength(2 * elements.length)
          expect(cut).toEqual(elements.map((element) => element.trim()))
        },
      ),
      { numRuns: 300 },
    )
  })

  test('a list keeps numbers as they were written, and cuts out broken records', () => {
    expect(scan(['[1.10, 12345678901234567890, -0.0e-7, {"a": nonsense}, [1, 2], "a,]\\"" ]'])).toEqual([
      '1.10',
      '12345678901234567890',
      '-0.0e-7',
      '{"a": nonsense}',
      '[1, 2]',
      '"a,]\\""',
    ])
  })
})

describe('the quick check', () => {
  const odd = fc.oneof(fc.string(), fc.double(), fc.boolean(), fc.constant(null), fc.constant([]), fc.constant({}))
  const digit = fc.integer({ min: 0, max: 99 }).map((n) => String(n).padStart(2, '0'))
  const instant = fc
    .tuple(
      fc.tuple(digit, digit, digit, digit, digit, digit, digit),
      fc.constantFrom('', '.1', '.123456', '.', ',5'),
      fc.constantFrom('Z', 'z', '', '+12:00', '-14:00', '+14:30', '+1200', '+99:00', '+13:59'),
      fc.constantFrom('T', ' ', 't'),
    )
    .map(
      ([[a, b, c, d, e, f, g], fraction, offset, letter]) =>
        `${a}${b}-${c}-${d}${letter}${e}:${f}:${g}${fraction}${offset}`,
    )
  const likely = fc.constantFrom(
    '2026-03-03T00:00:00Z',
    '2026-02-28T23:59:59.999+13:00',
    '2026-02-30T00:00:00Z',
    '2026-13-03T00:00:00Z',
    '2026-03-03T24:00:00Z',
    '0000-03-03T00:00:00Z',
    '2026-03-03T00:00:00+15:00',
  )
  const keys = [
    'id',
    'type',
    'name',
    'category',
    'value',
    'score',
    'state',
    'createdAt',
    'createdAtUtc',
    'scoreDateTime',
    'factors',
    'dataSources',
    'version',
    'startDateTime',
    'endDateTime',
    'trendStartDateTime',
    'trendEndDateTime',
    'periodicity',
    'aggregation',
    'unit',
    'valueType',
    'dataType',
    'ordinality',
    'isHigherBetter',
    'data',
    'source',
    'other',
  ]
  const record = fc.dictionary(
    fc.constantFrom(...keys),
    fc.oneof({ weight: 1, arbitrary: odd }, { weight: 1, arbitrary: instant }, { weight: 3, arbitrary: likely }),
    { maxKeys: 20 },
  )

  const all: readonly PulledStream[] = pulledStreams
  test.for(all)('of $name accepts only what the contract accepts', ({ schema, quickCheck }) => {
    fc.assert(
      fc.property(record, (fields) => {
        if (quickCheck?.(fields)) expect(schema.safeParse(fields).success, JSON.stringify(fields)).toBe(true)
      }),
      { numRuns: 3000 },
    )
  })

  const log = {
    ...{ logType: 'heart', dataType: 'heart_rate', value: 60, unit: 'bpm', source: 'Watch', deviceType: 'watch' },
    ...{ recordingMethod: 'manual_entry', startDateTime: '2026-03-03T00:00:00Z', endDateTime: '2026-03-03T00:00:00Z' },
  }
  const long = 'x'.repeat(250)
  const oddField = fc.oneof(
    odd,
    instant,
    likely,
    fc.constantFrom('', long, '\u0000', '\ud800', -1, 1001, Number.NaN, undefined, 'daily', 'sum', 'sleep'),
    fc.constantFrom('1900-01-01T00:00:00+02:00', '2199-12-31T23:00:00-13:00', '1901-01-01T00:00:00Z'),
    fc.constantFrom('RECORDING_METHOD_UNKNOWN', '3F6D1C0A-6c4e-4a55-9d0e-0e6a0c1f7b21', '3f6d1c0a-6c4e-4a55-9d0e'),
  )
  const fieldsOfLogs = Object.keys(dataLogInputSchema.shape)
  test('of data-logs accepts only what the schema accepts', () => {
    const changes = fc.dictionary(fc.constantFrom(...fieldsOfLogs), oddField, { maxKeys: 4 })
    fc.assert(
      fc.property(changes, (changed) => {
        const fields = { ...log, ...changed }
        if (quickChecks.dataLogs(fields))
          expect(dataLogInputSchema.safeParse(fields).success, JSON.stringify(fields)).toBe(true)
      }),
      { numRuns: 10_000 },
    )
  })

  test('takes the ordinary record of every list, so that the slow way stays rare', () => {
    expect(quickChecks.dataLogs({ ...log, id: '3f6d1c0a-6c4e-4a55-9d0e-0e6a0c1f7b21', deviceId: undefined })).toBe(true)
    expect(quickChecks.dataLogs({ ...log, endDateTime: '2026-03-03T01:00:00+01:00' })).toBe(true)
    const day = { startDateTime: '2026-03-03T00:00:00+12:00', endDateTime: '2026-03-03T23:59:59.5Z' }
    expect(quickChecks.scores({ type: 'sleep', value: 0.7, scoreDateTime: day.startDateTime, factors: [] })).toBe(true)
    expect(quickChecks.biomarkers({ type: 'steps', value: '12', ...day })).toBe(true)
    expect(quickChecks.archetypes({ name: 'a', value: 'b', ordinality: 0, ...day })).toBe(true)
    expect(quickChecks.tags({ type: 'event', name: 'a', startDateTime: day.startDateTime })).toBe(true)
    expect(quickChecks.comparisons({ category: 'score', name: 'a', value: 1, isHigherBetter: true, ...day })).toBe(true)
    const span = { trendStartDateTime: day.startDateTime, trendEndDateTime: day.endDateTime }
    expect(quickChecks.trends({ category: 'score', name: 'a', data: [], ...span })).toBe(true)
  })
})

describe('Retry-After', () => {
  const nowMs = Date.parse('2026-03-03T12:00:00Z')

  test.for<[string | undefined, number | undefined]>([
    [undefined, undefined],
    ['0', 0],
    ['7', 7000],
    [' 7 ', 7000],
    ['1.5', 1500],
    ['-5', 0],
    ['999999999999', HOUR],
    ['Tue, 03 Mar 2026 12:00:30 GMT', 30_000],
    ['Tue, 03 Mar 2026 11:00:00 GMT', 0],
    ['Tue, 03 Mar 2099 12:00:00 GMT', HOUR],
    ['soon', undefined],
    ['', undefined],
  ])('the header %s asks for a pause of %s ms', ([header, expected]) => {
    expect(retryAfterMsOf(header, undefined, nowMs)).toBe(expected)
  })

  test('a date is measured by upstream’s own clock where it shows one', () => {
    expect(retryAfterMsOf('Tue, 03 Mar 2026 12:00:30 GMT', nowMs - 60_000, nowMs)).toBe(90_000)
  })
})

test('faults are found under whatever form the path has', () => {
  const details = [
    '[3].unit',
    '3.value',
    '$[4]',
    'unit',
    '',
    '[12][0].x',
    'value[3]',
    'parts.4.size',
    '[5].parts.6.size',
  ].map((path) => ({
    path,
    reasons: ['bad'],
  }))
  const faults = itemFaultsByIndex(new Rejected('x', { status: 400, details }))

  expect([...faults]).toEqual([
    [3, ['unit: bad', 'value: bad']],
    [4, ['bad']],
    [12, ['[0].x: bad']],
    [5, ['parts.6.size: bad']],
  ])
})
