import { expect, test } from 'vitest'
import { z } from 'zod'
import type { HttpResponse } from '../../../src/pipeline/upstream/http.ts'
import { bodyParserOf } from '../../../src/pipeline/upstream/parse-body.ts'
import { parseAnswer, RecordCollector, unchangedAnswer } from '../../../src/pipeline/upstream/record-collector.ts'
import type { TimedResponse } from '../../../src/pipeline/upstream/sender.ts'
import { answer } from '../../support/http-answer.ts'
import { demographics, scores } from '../../support/stream-by-name.ts'

const answered = (body: string, more: Partial<HttpResponse> = {}): TimedResponse => ({
  response: answer(200, { body: Buffer.from(body), ...more }),
  ...{ kind: 'json', sentAtMs: 7 },
})

test('an element that is no record of its stream says why, and the others are not affected', () => {
  const schema = z.strictObject({
    name: z.string().refine((name) => name !== 'long', 'x'.repeat(201)),
    parts: z.record(z.string(), z.object({ size: z.number() })),
  })
  const good = '{"name": "a", "parts": {}}'
  const bad: Array<[raw: string, path: string, reason: string]> = [
    ['{"name": nonsense}', '', 'not JSON'],
    ['7', '', 'not an object'],
    ['{"name": "a", "parts": {"b": {"size": "7"}}}', 'parts.b.size', 'Invalid input: expected number'],
    [`{"name": "a", "parts": {"${'b'.repeat(99)}": 7}}`, `parts.${'b'.repeat(94)}`, 'Invalid input: expected object'],
    ['{"name": "a", "parts": {}, "other": 7}', '', 'unknown keys'],
    ['{"name": "long", "parts": {}}', 'name', 'x'.repeat(200)],
  ]
  const collector = new RecordCollector({ schema })
  collector.addList(Buffer.from(`[${[good, ...bad.map(([raw]) => raw), good].join(',')}]`))

  expect(collector.records.map(({ raw }) => raw)).toEqual([good, good])
  expect(collector.invalid).toEqual(bad.map(([raw, path, reason]) => ({ path, reason, raw })))
})

test('an answer that came piece by piece is what was collected of it', () => {
  const sink = new RecordCollector(demographics)
  for (const piece of ['[{"gen', 'der": "FEMALE"}', ']']) sink.push(piece)

  expect(parseAnswer(scores, answered('', { sink }))).toMatchObject({ records: [{ raw: '{"gender": "FEMALE"}' }] })

  const broken = new RecordCollector(demographics)
  broken.push('[{"gender": "FEMALE"}')
  expect(() => parseAnswer(scores, answered('', { sink: broken }))).toThrow('the list does not end')
})

test.for([
  ['"a"', '"a"'],
  [`"${'a'.repeat(200)}"`, `"${'a'.repeat(200)}"`],
  [`"${'a'.repeat(201)}"`, undefined],
  ['W/"a"', undefined],
  ['""', undefined],
  ['"a b"', undefined],
  ['"a"b', undefined],
  [undefined, undefined],
])('of an answer with the tag %s the tag %s is kept, and none of an answer with further pages', ([header, tag]) => {
  const [whole, first] = [undefined, true].map((hasNextPage) =>
    parseAnswer(scores, answered('[]', { tag: header, ...(hasNextPage && { hasNextPage }) })),
  )

  expect(whole).toEqual({
    ...{ records: [], invalid: [], serverAtMs: undefined, word: undefined, sentAtMs: 7, tag },
    ...{ unchanged: false, isPartial: false },
  })
  expect(first).toMatchObject({ tag: undefined, isPartial: true })
})

test.for([
  ['finished', 'finished'],
  [' Finished ', 'finished'],
  ['pending', 'pending'],
  ['nearly', 'pending'],
  [undefined, undefined],
] as const)('the word %s of upstream about its derivation counts as %s', ([derivationState, word]) => {
  expect(parseAnswer(scores, answered('[]', { derivationState }))).toMatchObject({ word })
})

test.for([
  ['"b"', '"b"'],
  ['W/"b"', '"b"'],
  ['"W/"', '"W/"'],
  [undefined, '"held"'],
])('an unchanged answer that names the tag %s is about %s', ([header, tag]) => {
  const date = 'Tue, 03 Mar 2026 12:00:00 GMT'
  const response = answered('', { tag: header, derivationState: 'pending', date })

  expect(unchangedAnswer('"held"', response)).toEqual({
    ...{ records: [], invalid: [], sentAtMs: 7, tag, unchanged: true },
    ...{ serverAtMs: Date.UTC(2026, 2, 3, 12), word: 'pending' },
  })
})

test.for([
  ['[1]', 'it is no object'],
  ['', 'it is no object'],
  ['{"title": "no"}', 'it is the body of an error'],
])('a snapshot is an object or an empty list: %s is neither', ([body, reason]) => {
  expect(() => parseAnswer(demographics, answered(body ?? ''))).toThrow(new SyntaxError(reason))
  expect(parseAnswer(demographics, answered(' [] '))).toMatchObject({ records: [], invalid: [] })
  expect(parseAnswer(demographics, answered('\n{"gender": "FEMALE"} \n')).records).toMatchObject([
    { raw: '{"gender": "FEMALE"}' },
  ])
})

test.for([
  ['', 'it is empty'],
  [' \n', 'it is empty'],
  ['nonsense', 'it is no JSON list or object'],
  ['7', 'it is no JSON list or object'],
  ['null', 'it is no JSON list or object'],
  ['{"title": "no"}', 'it is the body of an error'],
  ['{"a": {"c": 1}}', 'it lacks a.b'],
  ['[]', 'it lacks everything'],
])('the body %j is refused: %s', ([body, reason]) => {
  const parse = bodyParserOf(z.object({ a: z.object({ b: z.string() }) }))
  expect(() => parse(answered(body ?? ''))).toThrow(new SyntaxError(reason))
})
