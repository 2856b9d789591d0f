import type { z } from 'zod'
import type { Actor } from '../../../web/access.ts'
import type { ActRoute, ReadRoute } from '../../../web/page-questions.ts'
import type { ServiceContext } from '../../http/context.ts'
import type { DescribedRoute } from '../../reference/openapi.ts'
import type { SandboxControl } from '../../sandbox/sandbox-control.ts'
import type { SandboxCredentials } from '../../sandbox/seeding.ts'

/** A sandbox behind the console. Its keys follow from the seed and are no secret. */
export type ConsoleSandbox = { readonly control: SandboxControl; readonly credentials: SandboxCredentials }

/** The parts that the console's routes work with. */
export type ConsoleContext = Pick<ServiceContext, 'pool' | 'tokenCache' | 'profileSearch' | 'clock' | 'log'> & {
  readonly sandbox: ConsoleSandbox | undefined
  readonly routes: readonly DescribedRoute[]
}

export type ConsoleVisit = { readonly actor: Actor }

/** For the security log: no name of a person, and no secret. */
export type ConsoleRecord = { readonly keyId?: string }

type Read<Q extends z.ZodType, A> = ReadRoute<ConsoleContext, ConsoleVisit, Q, A>
type Act<B extends z.ZodType, A> = ActRoute<ConsoleContext, ConsoleVisit, ConsoleRecord, B, A>

export type ConsoleRoute = Read<z.ZodType, unknown> | Act<z.ZodType, unknown>

export const consoleRead = <Q extends z.ZodType, A>(route: Omit<Read<Q, A>, 'kind'>): Read<Q, A> => ({
  kind: 'read',
  ...route,
})
export const consoleAct = <B extends z.ZodType, A>(
  route: Omit<Act<B, A>, 'kind' | 'recorded'> & Partial<Pick<Act<B, A>, 'recorded'>>,
): Act<B, A> => ({ kind: 'act', recorded: () => ({}), ...route })
