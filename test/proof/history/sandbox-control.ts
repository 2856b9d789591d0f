import type { SandboxCredentials } from '../../../src/base/contract/sandbox-credentials.ts'
import { SECOND } from '../../../src/base/time/units.ts'
import type { ServedRecords } from '../../../src/service/sandbox/served-records.ts'

/** The control routes of a sandbox in another process, and an account that uploads directly. */
export type SandboxControl = {
  readonly url: string
  control(method: string, path: string, body?: object): Promise<Record<string, unknown>>
  people(): Promise<string[]>
  ledger(profile: string): Promise<ServedRecords | undefined>
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
    return text === '' ? {} : JSON.parse(text)
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
  const control: SandboxControl['control'] = (method, path, body) =>
    send(`/__control${path}`, json(method, body, asOperator))
  return {
    url,
    control,
    async people() {
      const people = Object.values(await control('GET', '/people'))
      return people.map((person) => String(Object(person).externalId))
    },
    async ledger(profile) {
      const answer = await fetch(
        `${url}/__control/ledger/${encodeURIComponent(profile)}`,
        json('GET', undefined, asOperator),
      )
      return answer.ok ? ((await answer.json()) as ServedRecords) : undefined // the sandbox's own answer
    },
    async uploadElsewhere(externalId, logs) {
      const { accountToken } = await send('/api/v1/oauth/account/token', json('POST', ofAccount))
      const asAccount = json('POST', { externalId }, `account ${accountToken}`)
      const { profileToken } = await send('/api/v1/oauth/profile/token', asAccount)
      await send('/api/v1/profile/data/log', json('POST', logs, `profile ${profileToken}`))
    },
  }
}
