import { computed } from '@preact/signals'
import type { Actor } from '../../../web/access.ts'
import { createPageSession } from '../../../web/browser/page-session.ts'
import type { SandboxCredentials } from '../../sandbox/seeding.ts'

type ConsoleSession = {
  readonly actor: Actor | null
  readonly isSandbox: boolean
  /** A sandbox's keys follow from its seed and are no secret. */
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
