import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { pulledStreams } from '../../../config/streams.ts'
import { dataLogInputSchema } from '../../../src/base/contract/data-log.ts'
import { quickChecks } from '../../../src/base/contract/quick-check.ts'
import { Rejected, Unanswered } from '../../../src/base/errors.ts'
import { HOUR } from '../../../src/base/time/units.ts'
import type { PulledStream } from '../../../src/pipeline/transfer/stream.ts'
import { elementBoundsOf, ListScanner } from '../../../src/pipeline/upstream/list-scanner.ts'
import { itemFaultsByIndex } from '../../../src/pipeline/upstream/push-items.ts'
import { RecordCollector } from '../../../src/pipeline/upstream/record-collector.ts'
import { retryAfterMsOf } from '../../../src/pipeline/upstream/retry-after.ts'
import { oddErrorNamesOf, scrub, scrubbedDetails } from '../../../src/pipeline/upstream/scrub.ts'
import { searchPages } from '../../../src/pipeline/upstream/search-pages.ts'
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

describe('scrubbing', () => {
  test.for([
    ['externalId "ada-1" is in use', 'externalId "…" is in use'],
    ["value '71.5' is above 1", "value '…' is above …"],
    ['got 2026-03-03T00:00:00Z', 'got …'],
    ['mail ada@example.org is taken', '… is taken'],
    ['unknown profile top-secret', 'unknown profile …'],
    ['token eyJhbGciOiJIUzI1NiJ9.eyJzdWIi.x_y is expired', 'token … is expired'],
    ['must be one of sleep, activity', 'must be one of …'],
    ['Alice Smith has diabetes', '… has …'],
    ['birthDate must not be in the future', 'birthDate must not be in the future'],
    ['red \u001b[31m\u202eeulav\nbad', '… [… bad'],
    ['value is too long', 'value is too long'],
    ['never "closed', 'never "…'],
    ['"value" is above "value', '"…" is above "…'],
    ['is of a@b', 'is of …'],
    ['is.a@b is taken', '… is taken'],
    ['Alice Smith Jones Brown is taken', '… is taken'],
    [' value is too long ', 'value is too long'],
    [`${'1'.repeat(2000)} value`, '…'],
  ])('the words %j are reported as %j', ([words, clean]) => {
    expect(scrub(words ?? '', { secrets: ['', 'top-secret'] })).toBe(clean)
  })

  test('names of the request’s own fields stay, and no others', () => {
    const scrubbing = { secrets: [], fields: ['mood'] }
    expect(scrub('mood must not be above weight', scrubbing)).toBe('mood must not be above …')
    const errors = [
      { origin: '[3].mood', errors: ['is too high'] },
      { origin: '[3].diabetes', errors: ['is too low'] },
    ]
    expect(scrubbedDetails(JSON.stringify({ errors }), scrubbing).details).toEqual([
      { path: '[3].mood', reasons: ['is too high'] },
      { path: '[3]._', reasons: ['is too low'] },
    ])
  })

  test.for([
    ['value', 'value'],
    ['$[12].value', '$[12].value'],
    ['1234.value', '1234.value'],
    ['12345.value', ''],
    ['value is', ''],
    ['-value', ''],
    ['value-', ''],
    ['x'.repeat(100), '_'],
    ['x'.repeat(101), ''],
    ['value.hidden', ''],
    [undefined, ''],
  ])('the path %j is reported as %j', ([origin, path]) => {
    const body = JSON.stringify({ errors: [{ origin, errors: 'is too high' }] })
    const { details } = scrubbedDetails(body, { secrets: ['', 'hidden'] })

    expect(details).toEqual([{ path, reasons: ['is too high'] }])
  })

  test('of a long refusal the first two hundred errors stay, and of each the first twenty reasons', () => {
    const errors = Array.from({ length: 201 }, () => ({ origin: 'value', errors: Array(21).fill('is too high') }))
    const { details } = scrubbedDetails(JSON.stringify({ errors }), { secrets: [] })

    expect(details).toHaveLength(200)
    expect(new Set(details.map(({ reasons }) => reasons.length))).toEqual(new Set([20]))
  })

  const withNames = (count: number) => JSON.stringify(Object.fromEntries(namesUpTo(count).map((name) => [name, 1])))
  const namesUpTo = (count: number) =>
    Array.from({ length: count }, (_, index) => String.fromCharCode(97 + Math.floor(index / 26), 97 + (index % 26)))
  test.for([
    ['{"reason": "x", "code": 7}', 'code, reason'],
    [withNames(11), namesUpTo(10).join(', ')],
    [`{${' '.repeat(19_988)}"code": 7}`, 'code'],
    [`{${' '.repeat(19_990)}"code": 7}`, undefined],
    ['[1]', undefined],
    ['', undefined],
    ['no JSON', undefined],
  ])('the names of an error of another form are reported: %#', ([body, names]) => {
    expect(oddErrorNamesOf(Buffer.from(body ?? ''))).toBe(names)
  })

  test('a scrubbed text leaves nothing of a secret, however upstream wraps it, and stays short', () => {
    fc.assert(
      fc.property(fc.string(), fc.uuid(), fc.string(), (before, secret, after) => {
        const clean = scrub(`${before}${secret}${after}`, { secrets: [] })
        expect(clean).not.toContain(secret)
        expect(clean.length).toBeLessThanOrEqual(200)
      }),
    )
  })
})

test('faults are found under whatever form the path has', () => {
  const details = ['[3].unit', '3.value', '$[4]', 'unit', '', '[12][0].x', 'value[3]', 'parts.4.size'].map((path) => ({
    path,
    reasons: ['bad'],
  }))
  const faults = itemFaultsByIndex(new Rejected('x', { status: 400, details }))

  expect([...faults]).toEqual([
    [3, ['unit: bad', 'value: bad']],
    [4, ['bad']],
    [12, ['[0].x: bad']],
  ])
})

describe('pages of a search', () => {
  const all = (total: number) => Array.from({ length: total }, (_, index) => `p${index}`)
  const upstreams = {
    'from one': (page: number, total: number) => (page < 1 ? refuse() : answer(page, page - 1, total)),
    'from one, clamping zero': (page: number, total: number) => answer(Math.max(1, page), Math.max(0, page - 1), total),
    'from one, clamping zero, echoing nothing': (page: number, total: number) => ({
      ...answer(1, Math.max(0, page - 1), total),
      currentPage: undefined,
    }),
    'from zero': (page: number, total: number) => answer(page, page, total),
    'from zero, echoing nothing': (page: number, total: number) => ({
      ...answer(page, page, total),
      currentPage: undefined,
    }),
    'from one, echoing from zero': (page: number, total: number) =>
      page < 1 ? refuse() : answer(page - 1, page - 1, total),
    'from one, without totals': (page: number, total: number) =>
      page < 1 ? refuse() : { ...answer(page, page - 1, total), totalPages: undefined },
  }
  const size = 10
  function answer(currentPage: number, index: number, total: number) {
    return {
      items: all(total).slice(index * size, (index + 1) * size),
      currentPage,
      totalPages: Math.ceil(total / size),
    }
  }
  function refuse(): never {
    throw new Rejected('page', { status: 400 })
  }
  const collect = async (
    ask: (
      page: number,
    ) =>
      | Awaited<ReturnType<typeof answer>>
      | { items: string[]; currentPage?: number | undefined; totalPages?: number | undefined },
    pagesMax = 50,
  ) => {
    const found: string[] = []
    for await (const items of searchPages({ ask: async (page) => ask(page), idOf: (item) => item, pagesMax })) {
      expect(items.length).toBeGreaterThan(0)
      found.push(...items)
    }
    return found
  }

  test.for(
    Object.entries(upstreams).flatMap(([name, ask]) =>
      [0, 1, 9, 10, 11, 20, 35].map((total) => ({ name, ask, total })),
    ),
  )('$name: all $total, once', async ({ ask, total }) => {
    expect(await collect((page) => ask(page, total))).toEqual(all(total))
  })

  test.for([
    ['from one', [1, 0, 2, 3]],
    ['from zero', [1, 0, 2]],
    ['from one, without totals', [1, 0, 2, 3, 4]],
  ] as const)(
    '%s: no page beyond the last is asked for, where the total says which is the last',
    async ([name, pages]) => {
      const asked: number[] = []
      await collect((page) => {
        asked.push(page)
        return upstreams[name](page, 3 * size)
      })

      expect(asked).toEqual(pages)
    },
  )

  test('an upstream that gives the same page again, another page, or no end, is an error and no endless loop', async () => {
    const same = { items: ['a'], currentPage: undefined, totalPages: 9 }
    await expect(collect((page) => (page < 1 ? refuse() : same))).rejects.toThrow('the one before it again')
    await expect(
      collect((page) => (page < 1 ? refuse() : { items: [`${page}`], currentPage: 1, totalPages: 9 })),
    ).rejects.toThrow('answered page 1')
    await expect(collect((page) => (page < 1 ? refuse() : { items: [`${page}`] }))).rejects.toThrow(
      'more than 50 pages',
    )
    await expect(collect((page) => answer(page, page, 1000), 20)).rejects.toMatchObject({
      message: 'search profiles: more than 20 pages',
      hint: 'Narrow the search.',
    })
  })

  test('as many pages as are allowed are read', async () => {
    const ask = upstreams['from one']
    expect(await collect((page) => ask(page, 20 * size), 20)).toEqual(all(20 * size))
  })

  test('a page zero that calls itself page one is page one, whatever has changed between the two', async () => {
    const found = await collect((page) =>
      page < 1 ? { ...answer(1, 0, 9), items: ['new'] } : answer(page, page - 1, 9),
    )
    expect(found).toEqual(all(9))
  })

  test('a failure of page zero that is no refusal is the failure of the search', async () => {
    const lost = new Unanswered('lost')
    const ask = (page: number) => {
      if (page < 1) throw lost
      return answer(page, page - 1, 9)
    }
    await expect(collect(ask)).rejects.toBe(lost)
  })
})
