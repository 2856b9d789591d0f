import { callerRoutes } from './routes/caller-routes.ts'
import type { ConsoleContext, ConsoleRoute } from './routes/console-context.ts'
import { keyRoutes } from './routes/key-routes.ts'
import { operationsRoutes } from './routes/operations-routes.ts'
import { sandboxRoutes } from './routes/sandbox-routes.ts'

/** Every question and action of the console. */
export const consoleRoutes = (context: ConsoleContext): readonly ConsoleRoute[] => [
  ...keyRoutes,
  ...callerRoutes,
  ...operationsRoutes(context),
  ...(context.sandbox ? sandboxRoutes(context.sandbox) : []),
]
