import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HOUR, MINUTE, SECOND } from '../../../src/base/time/units.ts'
import {
  type Breaker,
  decideToken,
  nextBreaker,
  noTokenState,
  type Token,
  type TokenState,
  unprovenStateOf,
} from '../../../src/pipeline/fleet/tokens.ts'

const issuedAtMs = Date.parse('2026-03-10T00:00:00Z')
const token = (lifetimeMs: number, generation = 4): Token => ({
  generation,
  secret: 'secret',
  issuedAtMs,
  expiresAtMs: issuedAtMs + lifetimeMs,
})
const open = (untilMs: number): Breaker => ({ reason: 'refused', untilMs, openings: 1 })

test('the state of a new token: of its generation, without a breaker, and unproven', () => {
  expect(unprovenStateOf(token(HOUR))).toEqual({
    generation: 4,
    token: token(HOUR),
    breaker: undefined,
    proven: false,
    unprovenBefore: 0,
  })
  expect(noTokenState).toEqual({
    generation: 0,
    token: undefined,
    breaker: undefined,
    proven: false,
    unprovenBefore: 0,
  })
})

test.for([
  ['no token yet', noTokenState, 0, 0, 'renew'],
  ['a new token', unprovenStateOf(token(HOUR)), 0, 0, 'use'],
  ['an older generation refused', unprovenStateOf(token(HOUR)), 3, 0, 'use'],
  ['this generation refused', unprovenStateOf(token(HOUR)), 4, 0, 'renew'],
  ['a later generation refused', unprovenStateOf(token(HOUR)), 5, 0, 'renew'],
  ['a fifth of an hour before the end', unprovenStateOf(token(HOUR)), 0, 48 * MINUTE, 'use-and-renew'],
  ['a moment sooner', unprovenStateOf(token(HOUR)), 0, 48 * MINUTE - 1, 'use'],
  ['a moment before the end', unprovenStateOf(token(HOUR)), 0, HOUR - 1, 'use-and-renew'],
  ['the end', unprovenStateOf(token(HOUR)), 0, HOUR, 'renew'],
  ['three hours before the end of a day', unprovenStateOf(token(24 * HOUR)), 0, 21 * HOUR, 'use-and-renew'],
  ['a moment sooner than three hours', unprovenStateOf(token(24 * HOUR)), 0, 21 * HOUR - 1, 'use'],
  ['an open breaker', { ...unprovenStateOf(token(HOUR)), breaker: open(issuedAtMs + 10) }, 0, 9, 'broken'],
  ['an open breaker without a token', { ...noTokenState, breaker: open(issuedAtMs + 10) }, 0, 9, 'broken'],
  ['a breaker whose time is over', { ...unprovenStateOf(token(HOUR)), breaker: open(issuedAtMs + 10) }, 0, 10, 'use'],
] satisfies Array<[string, TokenState, number, number, string]>)('%s', ([, state, refused, afterMs, decision]) => {
  expect(decideToken(state, refused, issuedAtMs + afterMs)).toBe(decision)
})

test('as time passes a token is used, then used and renewed, then renewed: never back', () => {
  const order = ['use', 'use-and-renew', 'renew']
  const lifetime = fc.integer({ min: 1, max: 48 * HOUR })
  fc.assert(
    fc.property(lifetime, fc.array(fc.integer({ min: 0, max: 50 * HOUR }), { minLength: 2 }), (lifetimeMs, moments) => {
      const state = unprovenStateOf(token(lifetimeMs))
      const steps = moments.toSorted((a, b) => a - b).map((ms) => order.indexOf(decideToken(state, 0, issuedAtMs + ms)))
      expect(steps).toEqual(steps.toSorted((a, b) => a - b))
    }),
    { seed: 20261124 },
  )
})

test('each opening of a breaker in a row lasts twice as long, from 15 seconds to five minutes', () => {
  const lengths: number[] = []
  let breaker: Breaker | undefined
  for (let opening = 1; opening <= 8; opening += 1) {
    breaker = nextBreaker(`reason ${opening}`, breaker, opening * HOUR)
    expect(breaker).toMatchObject({ reason: `reason ${opening}`, openings: opening })
    lengths.push((breaker.untilMs - opening * HOUR) / SECOND)
  }

  expect(lengths).toEqual([15, 30, 60, 120, 240, 300, 300, 300])
})
