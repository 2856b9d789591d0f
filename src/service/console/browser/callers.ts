import { signal } from '@preact/signals'
import { act } from '../../../web/browser/ask.ts'
import type { TokenAnswer } from '../routes/caller-routes.ts'
import { consoleSession } from './console-state.ts'

/**
 * Keys, tokens and people as this page knows them. They live in its memory only: neither in an address, nor in anything that the
 * browser keeps, so that a reload forgets them.
 */
export const chosenKeyId = signal('')
export const chosenPerson = signal('')

type KeptKey = { readonly id: string; readonly secret: string }
/** Secrets of keys that were made, or typed in, on this page. */
const keptSecrets = signal<ReadonlyMap<string, string>>(new Map())

export function keepSecret({ id, secret }: KeptKey): void {
  keptSecrets.value = new Map([...keptSecrets.value, [id, secret]])
}

export function secretOf(keyId: string): string {
  const { credentials } = consoleSession.value
  if (credentials?.clientId === keyId) return credentials.clientSecret
  if (credentials?.appId === keyId) return credentials.appSecret
  return keptSecrets.value.get(keyId) ?? ''
}

/** The app key with which the demo app, and the query builder, register. */
export const appKey = signal<KeptKey>({ id: '', secret: '' })

export function chosenAppKey(): KeptKey {
  const { credentials } = consoleSession.value
  if (appKey.value.id !== '' || !credentials) return appKey.value
  return { id: credentials.appId, secret: credentials.appSecret }
}

type ProfileTokens = { readonly profileToken: string; readonly refreshToken: string }

const accountTokens = new Map<string, string>()
const profileTokens = new Map<string, ProfileTokens>()

export async function accountTokenOf(keyId: string): Promise<string> {
  const known = accountTokens.get(keyId)
  if (known) return known
  const { accountToken } = await act<TokenAnswer>('token', { keyId })
  accountTokens.set(keyId, accountToken)
  return accountToken
}

/** Got by the operation that an app's server would call. */
export async function profileTokensOf(keyId: string, externalId: string): Promise<ProfileTokens> {
  const key = JSON.stringify([keyId, externalId])
  const known = profileTokens.get(key)
  if (known) return known
  const response = await fetch('/api/v1/oauth/profile/token', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `account ${await accountTokenOf(keyId)}` },
    body: JSON.stringify({ externalId }),
  })
  if (!response.ok) {
    forgetTokens()
    const reason =
      response.status === 404 ? 'the account has no person of this name' : `the answer was ${response.status}`
    throw new Error(`No token for this person: ${reason}.`)
  }
  const tokens: ProfileTokens = await response.json()
  profileTokens.set(key, tokens)
  return tokens
}

/** After a refusal: the next request gets new ones. */
export function forgetTokens(): void {
  accountTokens.clear()
  profileTokens.clear()
}
