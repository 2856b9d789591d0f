import fc from 'fast-check'
import { expect } from 'vitest'
import { office, test } from './sandbox-world.ts'

const oddValues = [null, -1, 0, 0.5, 25, 1e308, '', '\u0000', '0001-01-01', '9999-12-31T23:59:59-14:00', '2026-02-30']
const odd = fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom(...oddValues))
const bodies: Record<string, fc.Arbitrary<unknown>> = {
  'PUT /faults': fc.record({ name: fc.constantFrom('latency', 'throttle', 'none', 1), rate: odd, timesMax: odd }),
  'POST /faults': fc.array(fc.record({ name: fc.constantFrom('slow-body', 'reset'), operations: odd }), {
    maxLength: 2,
  }),
  'DELETE /faults?name=latency': fc.constant(undefined),
  'POST /clock': fc.oneof(fc.record({ advanceMs: odd }), fc.record({ advanceHours: odd }), fc.record({ to: odd })),
  'DELETE /clock': fc.constant(undefined),
  'POST /live': fc.record({ hours: fc.oneof(odd, fc.constantFrom(0, 0.5, 2)) }),
  'GET /journal?last=-1': fc.constant(undefined),
  'GET /journal?last=x': fc.constant(undefined),
  'GET /people': fc.constant(undefined),
  'POST /people': fc.record({
    kind: fc.constantFrom('runner', 'office-worker', 'nobody'),
    count: fc.constantFrom(1, 0, 'x'),
  }),
  [`GET /ledger/${office}`]: fc.constant(undefined),
  'GET /ledger/%00': fc.constant(undefined),
  'PUT /derivation': fc.record({ delayMs: odd, profiles: fc.oneof(odd, fc.constant([office])) }),
  'POST /tokens/revoke': fc.record({ externalId: odd }),
}
const call = fc
  .constantFrom(...Object.entries(bodies))
  .chain(([route, body]) =>
    fc.tuple(fc.constant(route), fc.oneof({ weight: 4, arbitrary: body }, { weight: 1, arbitrary: odd })),
  )

test('a control route answers any body with what it did or with a refusal, whatever was asked of it before', async ({
  world,
}) => {
  await fc.assert(
    fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 5 }), async (calls) => {
      for (const [route, body] of calls) {
        const [method = '', path = ''] = route.split(' ')
        const answer = await world.control(method, path, method === 'GET' ? undefined : body)
        expect(answer.status, `${route} ${JSON.stringify(body)}`).toBeLessThan(500)
      }
    }),
    { seed: 20261124, numRuns: 40 },
  )
})

test('the clock is moved by any value, or stays', async ({ world }) => {
  for (const key of ['advanceMs', 'advanceHours', 'to'])
    for (const value of oddValues) {
      const answer = await world.control('POST', '/clock', { [key]: value })
      expect(answer.status, `${key} ${value}`).toBeLessThan(500)
      expect((await world.control('GET', '/people')).status, `after ${key} ${value}`).toBe(200)
    }
})
