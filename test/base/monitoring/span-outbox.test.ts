import { expect, test } from 'vitest'
import { SpanOutbox } from '../../../src/base/monitoring/start-otlp.ts'

type Body = {
  readonly resourceSpans: ReadonlyArray<{
    readonly resource: unknown
    readonly scopeSpans: ReadonlyArray<{ scope: { name: string }; spans: unknown[] }>
  }>
}

/** An outbox whose bodies are sent when `answer` is called. */
function open(resource = '[]') {
  const bodies: Body[] = []
  const waiting: Array<() => void> = []
  const outbox = new SpanOutbox({
    resource,
    everyMs: 3_600_000,
    send(body) {
      bodies.push(JSON.parse(body.toString()))
      return new Promise<void>((sent) => waiting.push(sent))
    },
  })
  const spans = () => bodies.flatMap((body) => body.resourceSpans.flatMap((resourceSpan) => resourceSpan.scopeSpans))
  return { outbox, bodies, waiting, spans }
}

/** Answers each body as soon as it is sent, until all are. */
async function flushed({ outbox, waiting }: ReturnType<typeof open>): Promise<void> {
  let isDone = false
  const done = outbox.flush().then(() => {
    isDone = true
  })
  while (!isDone) {
    waiting.shift()?.()
    await new Promise((turned) => setImmediate(turned))
  }
  await done
}

test('spans keep their order and their scope, whatever is in them', async () => {
  const opened = open('[{"key":"a","value":{"stringValue":"ü"}}]')
  const words = ['"a"', '"ü\u2028\u{1f600}"', '1', '"]}]}]}"']
  for (const [index, word] of words.entries()) opened.outbox.add(index < 2 ? 'one' : 'two "quoted"', word)
  opened.outbox.add('one', '"again"')

  await flushed(opened)

  expect(opened.bodies).toHaveLength(1)
  expect(opened.bodies[0]?.resourceSpans[0]?.resource).toEqual({
    attributes: [{ key: 'a', value: { stringValue: 'ü' } }],
  })
  expect(opened.spans()).toEqual([
    { scope: { name: 'one' }, spans: ['a', 'ü\u2028\u{1f600}'] },
    { scope: { name: 'two "quoted"' }, spans: [1, ']}]}]}'] },
    { scope: { name: 'one' }, spans: ['again'] },
  ])
})

test('a span that is larger than a body is sent whole', async () => {
  const opened = open()
  const large = 'ü'.repeat(400_000)
  for (const word of ['a', large, 'b']) opened.outbox.add('one', JSON.stringify(word))

  await flushed(opened)

  expect(opened.spans().flatMap(({ spans }) => spans)).toEqual(['a', large, 'b'])
})

test('one body is under way at a time, and beside a silent collector a bounded number waits', async () => {
  const opened = open()
  const span = JSON.stringify('x'.repeat(1000))
  for (let index = 0; index < 40_000; index++) opened.outbox.add('one', span)
  expect(opened.bodies).toHaveLength(1)

  await flushed(opened)

  const bytes = opened.bodies.reduce((sum, body) => sum + JSON.stringify(body).length, 0)
  expect(bytes).toBeGreaterThan(4_000_000)
  expect(bytes).toBeLessThan(10_000_000)
})
