import type { Operation } from '../../../src/base/contract/operations.ts'
import type { SandboxCredentials } from '../../../src/base/contract/sandbox-credentials.ts'
import { SECOND } from '../../../src/base/time/units.ts'
import type { Fields } from '../../../src/pipeline/transfer/stream.ts'

/** The control routes of a sandbox in another process, and an account that uploads directly. */
export type SandboxControl = {
  readonly url: string
  control(method: string, path: string, body?: object): Promise<Record<string, unknown>>
  people(): Promise<string[]>
  /** Everything that the service answers to an operation about a person, without a window; nothing about a person that it does not know. */
  served(profile: string, operation: Operation): Promise<readonly Fields[]>
  uploadElsewhere(profile: string, logs: readonly object[]): Promise<void>
}

type Credentials = Pick<SandboxCredentials, 'clientId' | 'clientSecret' | 'controlToken'>

/** Callers ask again. A service whose database is silent may hold an answer back for two minutes. */
const ANSWERS_WITHIN_MS = 15 * SECOND

export function openSandboxControl(url: string, credentials: Credentials): SandboxControl {
  const send = async (path: string, init: RequestInit) => {
    const answer = await fetch(url + path, { ...init, signal: AbortSignal.timeout(ANSWERS_WITHIN_MS) })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${init.method} ${path}: ${answer.status}`)
    return text === '' ? undefined : JSON.parse(text)
  }
  const json = (method: string, body?: object, authorization?: string): RequestInit => ({
    method,
    headers: {
      ...(body ? { 'content-type': 'application/json' } : {}),
      ...(authorization ? { authorization } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  const { controlToken, ...ofAccount } = credentials
  const asOperator = `Bearer ${controlToken}`
  const control: SandboxControl['control'] = async (method, path, body) =>
    (await send(`/__control${path}`, json(method, body, asOperator))) ?? {}
  const accountAuth = async () => {
    const { accountToken } = await send('/api/v1/oauth/account/token', json('POST', ofAccount))
    return `account ${accountToken}`
  }
  const profileAuth = async (asAccount: string, externalId: string) => {
    const { profileToken } = await send('/api/v1/oauth/profile/token', json('POST', { externalId }, asAccount))
    return `profile ${profileToken}`
  }
  return {
    url,
    control,
    async people() {
      const people = Object.values(await control('GET', '/people'))
      return people.map((person) => String(Object(person).externalId))
    },
    async served(profile, { method, path, caller }) {
      const asAccount = await accountAuth()
      const asProfile = await profileAuth(asAccount, profile).catch((error: unknown) => {
        if (String(error).endsWith(': 404')) return undefined
        throw error
      })
      if (asProfile === undefined) return []
      const address = path.replace('{externalId}', encodeURIComponent(profile))
      const answer = await send(address, json(method, undefined, caller === 'account' ? asAccount : asProfile))
      return answer === undefined ? [] : [answer].flat()
    },
    async uploadElsewhere(externalId, logs) {
      const asProfile = await profileAuth(await accountAuth(), externalId)
      await send('/api/v1/profile/data/log', json('POST', logs, asProfile))
    },
  }
}
