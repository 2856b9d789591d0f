import { onTestFinished } from 'vitest'
import { HOUR } from '../../src/base/time/units.ts'
import type { NewToken, Token, TokenName, TokenStore } from '../../src/pipeline/fleet/tokens.ts'
import { createTelemetry } from '../../src/pipeline/upstream/telemetry.ts'
import { createInMemoryTokenStore } from '../../src/pipeline/upstream/tokens/in-memory-token-store.ts'
import { type ObtainRequest, TokenProvider } from '../../src/pipeline/upstream/tokens/token-provider.ts'

export const accountOfFleet: TokenName = { account: 'a' }
export const profileOfFleet = { account: 'a', profileId: '7' }
export const LIFETIME_MS = 10 * HOUR

type Obtain = (request: ObtainRequest, number: number) => Promise<NewToken> | NewToken

/** Providers over one store and one clock, as processes of one fleet. A pause moves the clock. */
export function openFleet(obtain?: Obtain, changed: (store: TokenStore) => Partial<TokenStore> = () => ({})) {
  let nowMs = 1_000_000_000
  const clock = () => nowMs
  const memory = createInMemoryTokenStore(clock)
  const store: TokenStore = { ...memory, ...changed(memory) }
  const obtained: ObtainRequest[] = []
  const pauses: number[] = []
  const outcomes: string[] = []
  const tokenOf = (number: number): NewToken => {
    return { secret: `t${number}`, refreshSecret: `r${number}`, issuedAtMs: nowMs, expiresAtMs: nowMs + LIFETIME_MS }
  }
  const provider = () => {
    const opened = new TokenProvider({
      store,
      telemetry: { ...createTelemetry(), renewed: (kind, outcome) => void outcomes.push(`${kind} ${outcome}`) },
      clock,
      random: () => 0.5,
      async sleep(ms, signal) {
        pauses.push(ms)
        nowMs += ms
        await new Promise((turned) => setImmediate(turned))
        if (signal?.aborted) throw new DOMException('This operation was aborted', 'AbortError')
      },
      async obtain(request) {
        obtained.push(request)
        return obtain ? obtain(request, obtained.length) : tokenOf(obtained.length)
      },
    })
    onTestFinished(() => opened.close())
    return opened
  }
  const advance = (ms: number) => {
    nowMs += ms
  }
  return { provider, store, tokenOf, obtained, pauses, outcomes, clock, advance }
}

/** The error of a token that is not given, thrown at once or later. */
export const failureOf = async (token: () => Token | Promise<Token>) =>
  Promise.resolve()
    .then(token)
    .then(
      () => 'no failure',
      (error: unknown) => error,
    )
