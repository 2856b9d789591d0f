import type { OperationName } from '../../../contract/operations.ts'

/** The tokens that died by a fault, whatever the service itself thinks of them. */
export type DeadTokens = {
  kill(token: string, revoked: boolean): void
  /** An expired token still opens a refresh; a revoked one opens nothing. */
  has(token: string | undefined, operation: OperationName): boolean
}

export function createDeadTokens(): DeadTokens {
  const dead = new Map<string, 'expired' | 'revoked'>()
  return {
    kill: (token, revoked) => {
      if (dead.get(token) !== 'revoked') dead.set(token, revoked ? 'revoked' : 'expired')
    },
    has: (token, operation) => {
      const how = token === undefined ? undefined : dead.get(token)
      return how === 'revoked' || (how === 'expired' && operation !== 'refreshToken')
    },
  }
}
