import { computed } from '@preact/signals'
import type { SandboxCredentials } from '../../../base/contract/sandbox-credentials.ts'
import type { Actor } from '../../../web/access.ts'
import { createPageSession, type Json, useAnswer } from '../../../web/browser/ask.ts'
import { createLiveState } from '../../../web/browser/live-state.ts'
import type { OperationsAnswer } from '../routes/operations-routes.ts'
import type { SandboxState } from '../routes/sandbox-routes.ts'
import type { ShownOperation } from './compose.ts'

type ConsoleSession = {
  readonly actor: Actor | null
  readonly isSandbox: boolean
  /** Those of the sandbox's own account, for those who may act. */
  readonly credentials: SandboxCredentials | null
  readonly csrf?: string
}

const page = createPageSession<ConsoleSession>({ actor: null, isSandbox: false, credentials: null })

export const consoleSession = page.session
export const mayChange = page.mayAct
export const openConsoleSession = page.openSession
export const enterConsole = page.signIn
export const leaveConsole = page.signOut
export const isSandbox = computed(() => consoleSession.value.isSandbox)

/** The address of the service: the console is a part of it. */
export const serviceUrl = location.origin
export const controlUrl = `${serviceUrl}/__control`

/** The curl of a control route, with the token of those who may act. */
export function controlCurl(method: string, path: string, json?: string): string {
  const token = `-H 'authorization: Bearer ${consoleSession.value.credentials?.controlToken ?? ''}'`
  const address = path.includes('?') ? `'${controlUrl}${path}'` : controlUrl + path
  const body = json === undefined ? [] : [`-H 'content-type: application/json' -d ${json}`]
  return [`curl -X ${method} ${address}`, token, ...body].join(' ')
}

export type LiveSandbox = Json<SandboxState>

/** The sandbox as the server last reported it; `undefined`: not yet, or there is none. */
const state = createLiveState<SandboxState>({ question: 'sandbox', everyMs: 1000 })
export const liveSandbox = state.live
export const useLiveSandbox = state.useLive

/** The clock of the service in milliseconds: a sandbox's may be moved. */
export const serviceNowMs = (): number => Date.now() + (liveSandbox.value?.aheadMs ?? 0)

/** The operations by task, as the service's own OpenAPI document has them. */
export const useOperations = () => useAnswer<OperationsAnswer>('operations')

type Sections = ReadonlyArray<{ readonly operations: readonly ShownOperation[] }>

export const operationOf = (sections: Sections, name: string): ShownOperation | undefined =>
  sections.flatMap(({ operations }) => operations).find((operation) => operation.name === name)

/** The tone of a status: 2xx and 3xx went well. */
export const toneOfStatus = (status: number): string => (status >= 500 ? 'bad' : status >= 400 ? 'odd' : 'well')
