import type { OperationName } from '../../../base/contract/operations.ts'

/** Tokens that a fault expired or revoked. The service itself still accepts them. */
export type RejectedTokens = {
  reject(token: string, as: 'expired' | 'revoked'): void
  /** An expired token still authenticates a refresh; a revoked token authenticates no operation. */
  isRejected(token: string | undefined, operation: OperationName): boolean
}

export function createRejectedTokens(): RejectedTokens {
  const rejected = new Map<string, 'expired' | 'revoked'>()
  return {
    reject: (token, as) => {
      if (rejected.get(token) !== 'revoked') rejected.set(token, as)
    },
    isRejected: (token, operation) => {
      const as = token === undefined ? undefined : rejected.get(token)
      return as === 'revoked' || (as === 'expired' && operation !== 'refreshToken')
    },
  }
}
