import type { ServiceApp, ServiceContext } from '../http/context.ts'
import type { DescribedRoute } from './openapi.ts'

/**
 * A part that is built into a service beside the 28 operations: the recomputation, an extra route, or the sandbox's
 * control routes and faults (as hooks of the app). Called before the service listens; closes what it opened. `routes`
 * stand in the reference beside the 28.
 */
export type ServiceExtension = (
  context: ServiceContext & {
    app: ServiceApp
    databaseUrl: string
    /** The address on which the service will listen. */
    host: string
    /** The described routes; extensions that follow add theirs. */
    routes: readonly DescribedRoute[]
  },
) => Promise<{ close?(): Promise<void>; routes?: readonly DescribedRoute[] } | undefined>
