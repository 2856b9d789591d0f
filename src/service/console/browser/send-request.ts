import type { CodeCaller } from './as-code.ts'
import {
  accountTokenOf,
  chosenAppKey,
  chosenKeyId,
  chosenPerson,
  forgetTokens,
  profileTokensOf,
  secretOf,
} from './callers.ts'
import type { ComposedRequest, Filled, ShownOperation } from './compose.ts'
import { consoleSession, mayChange, serviceUrl } from './console-state.ts'

type Authorized = {
  /** Fields of the body that the credentials fill. */
  readonly filled: Filled
  readonly isReady: boolean
  /** The credential that is missing, in words. */
  readonly missing: string
}

/** Looks whether the credentials of an operation are chosen, without asking for a token. */
export function authorize({ caller, name }: ShownOperation): Authorized {
  const ready = { filled: {}, isReady: true, missing: '' }
  if (name === 'accountToken') {
    const keyId = chosenKeyId.value
    return { ...ready, filled: { 'body.clientId': keyId, 'body.clientSecret': secretOf(keyId) } }
  }
  if (caller === 'anyone') return ready
  const lacking = (missing: string) => ({ ...ready, isReady: false, missing })
  if (caller === 'app') return chosenAppKey().secret === '' ? lacking('An app key is missing.') : ready
  if (!mayChange.value) return lacking('Tokens need the role act.')
  if (chosenKeyId.value === '') return lacking('A client key is missing: make one under API keys.')
  if (caller === 'profile' && chosenPerson.value === '') return lacking('Choose a person.')
  if (name === 'refreshToken') return { ...ready, filled: { 'body.refreshToken': OWN_REFRESH_TOKEN } }
  return ready
}

export function codeCallerOf(): CodeCaller {
  const { credentials } = consoleSession.value
  const app = chosenAppKey()
  return {
    service: serviceUrl,
    clientId: chosenKeyId.value,
    clientSecret: credentials?.clientId === chosenKeyId.value ? credentials.clientSecret : undefined,
    appId: app.id,
    appSecret: credentials?.appId === app.id ? credentials.appSecret : undefined,
    person: chosenPerson.value,
  }
}

export type SentRequest = {
  readonly request: ComposedRequest
  /** 0: no answer came. */
  readonly status: number
  readonly statusText: string
  readonly headers: ReadonlyArray<readonly [string, string]>
  readonly text: string
  readonly bytes: number
  readonly tookMs: number
}

const UNAUTHORIZED = 401

/** Sends it to the service that serves this page, with the token or key that the operation asks for. */
export async function sendRequest(operation: ShownOperation, request: ComposedRequest): Promise<SentRequest> {
  const credentials = await credentialHeaders(operation)
  const sentBody = operation.name === 'refreshToken' ? await withRefreshToken(request) : request.body
  const init = { method: request.method, headers: { ...request.headers, ...credentials } }
  const startedAtMs = performance.now()
  try {
    const response = await fetch(request.path, sentBody === undefined ? init : { ...init, body: sentBody })
    const text = await response.text()
    if (response.status === UNAUTHORIZED || operation.name === 'refreshToken') forgetTokens()
    const { status, statusText } = response
    const bytes = new TextEncoder().encode(text).length
    return {
      request,
      status,
      statusText,
      headers: [...response.headers],
      text,
      bytes,
      tookMs: performance.now() - startedAtMs,
    }
  } catch {
    const text = 'No answer came: the connection was reset, or the body broke off.'
    return { request, status: 0, statusText: '', headers: [], text, bytes: 0, tookMs: performance.now() - startedAtMs }
  }
}

async function credentialHeaders({ caller }: ShownOperation): Promise<Record<string, string>> {
  const keyId = chosenKeyId.value
  if (caller === 'app') {
    const { id, secret } = chosenAppKey()
    return { AppId: id, AppSecret: secret }
  }
  if (caller === 'account') return { authorization: `account ${await accountTokenOf(keyId)}` }
  if (caller === 'profile')
    return { authorization: `profile ${(await profileTokensOf(keyId, chosenPerson.value)).profileToken}` }
  return {}
}

/** The input may stay empty: the refresh token belongs to the profile token that this page holds. */
async function withRefreshToken({ body }: ComposedRequest): Promise<string> {
  const given: { refreshToken?: string } = body === undefined ? {} : JSON.parse(body)
  if (given.refreshToken && given.refreshToken !== OWN_REFRESH_TOKEN) return JSON.stringify(given)
  const { refreshToken } = await profileTokensOf(chosenKeyId.value, chosenPerson.value)
  return JSON.stringify({ ...given, refreshToken })
}

/** Stands in the input for the refresh token that is filled in when the request is sent. */
const OWN_REFRESH_TOKEN = 'the one of this person'
