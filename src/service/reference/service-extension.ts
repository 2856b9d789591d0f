import type { ServiceApp, ServiceContext } from '../http/context.ts'
import type { DescribedRoute } from './openapi.ts'

/** The result of an extension: `routes` stand in the reference beside the 28, and `close` closes whatever it opened. */
export type ServiceAddition = { close?(): Promise<void>; routes?: readonly DescribedRoute[] }

/**
 * A part that is built into a service beside the 28 operations: the recomputation, an extra route, or the sandbox's
 * control routes and faults (as hooks of the app). Called before the service listens.
 */
export type ServiceExtension<A extends ServiceAddition | undefined = ServiceAddition | undefined> = (
  context: ServiceContext & {
    app: ServiceApp
    databaseUrl: string
    /** The address on which the service will listen. */
    host: string
    /** The described routes; extensions that follow add theirs. */
    routes: readonly DescribedRoute[]
  },
) => Promise<A>
