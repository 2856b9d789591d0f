import type { OperationName } from '../../../contract/operations.ts'

/** What the sandbox knows of the tokens that pass: which are dead by a fault, and to whom profile tokens belong. */
export type TokenBook = {
  kill(token: string, revoked: boolean): void
  /** An expired token still opens a refresh; a revoked one opens nothing. */
  isDead(token: string | undefined, operation: OperationName): boolean
  /** Reads, from the answer to a call for a token, whose the new token is. */
  learn(visit: { operation: OperationName; profile: string | undefined }, asker: string | undefined, body: string): void
  profileOf(token: string | undefined): string | undefined
}

const tokensMax = 200_000

const givesProfileToken: readonly OperationName[] = ['register', 'registerByApp', 'profileToken', 'refreshToken']

export function createTokenBook(): TokenBook {
  const dead = new Map<string, 'expired' | 'revoked'>()
  const owners = new Map<string, string>()
  return {
    kill: (token, revoked) => {
      if (dead.get(token) !== 'revoked') dead.set(token, revoked ? 'revoked' : 'expired')
    },
    isDead: (token, operation) => {
      const how = token === undefined ? undefined : dead.get(token)
      return how === 'revoked' || (how === 'expired' && operation !== 'refreshToken')
    },
    learn: ({ operation, profile }, asker, body) => {
      if (!givesProfileToken.includes(operation)) return
      const owner = profile ?? (asker === undefined ? undefined : owners.get(asker))
      const answer: { profileToken?: unknown } = JSON.parse(body)
      if (owner === undefined || typeof answer.profileToken !== 'string') return
      if (owners.size >= tokensMax) owners.clear()
      owners.set(answer.profileToken, owner)
    },
    profileOf: (token) => (token === undefined ? undefined : owners.get(token)),
  }
}
