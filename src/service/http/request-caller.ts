import type { FastifyRequest } from 'fastify'
import type { TokenOwner } from '../store/credentials/issued-tokens.ts'
import { unauthorized } from './request-error.ts'

/** The authenticated caller of a request; both ids are empty or absent where anyone may call. */
export type RequestCaller = Pick<TokenOwner, 'accountId' | 'profileId' | 'keyId'>

const callersByRequest = new WeakMap<FastifyRequest, RequestCaller>()

export function setCaller(request: FastifyRequest, caller: RequestCaller): void {
  callersByRequest.set(request, caller)
}

/** The account of the caller; '' where anyone may call. */
export function accountOf(request: FastifyRequest): string {
  return callersByRequest.get(request)?.accountId ?? ''
}

export function callerOf(request: FastifyRequest): RequestCaller {
  const caller = callersByRequest.get(request)
  if (!caller) throw unauthorized()
  return caller
}
