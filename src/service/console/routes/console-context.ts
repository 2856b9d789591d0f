import type { SandboxCredentials } from '../../../base/contract/sandbox-credentials.ts'
import type { Actor } from '../../../web/access.ts'
import { type PageRoute, pageRoutesOf } from '../../../web/page-questions.ts'
import type { ServiceContext } from '../../http/context.ts'
import type { ServiceRoute } from '../../http/service-route.ts'
import type { SandboxControl } from '../../sandbox/sandbox-control.ts'

/** A sandbox behind the console, with its own keys. */
export type ConsoleSandbox = { readonly control: SandboxControl; readonly credentials: SandboxCredentials }

/** The parts that the console's routes work with. */
export type ConsoleContext = Pick<
  ServiceContext,
  'pool' | 'reads' | 'tokenCache' | 'profileSearch' | 'clock' | 'log'
> & {
  readonly sandbox: ConsoleSandbox | undefined
  readonly routes: readonly ServiceRoute[]
}

export type ConsoleVisit = { readonly actor: Actor }

/** For the security log: no name of a person, and no secret. */
export type ConsoleRecord = { readonly keyId?: string }

export type ConsoleRoute = PageRoute<ConsoleContext, ConsoleVisit, ConsoleRecord>

export const { defineRead, defineAct } = pageRoutesOf<ConsoleContext, ConsoleVisit, ConsoleRecord>()
