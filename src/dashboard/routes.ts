import type { DashboardContext } from './dashboard-context.ts'
import type { Route } from './dashboard-routes.ts'
import type { openNow } from './read-now.ts'
import { coverageRoutes } from './routes/coverage-routes.ts'
import { failureRoutes } from './routes/failure-routes.ts'
import { nowRoutes } from './routes/now-routes.ts'
import { personRoutes } from './routes/person-routes.ts'
import { quarantineRoutes } from './routes/quarantine-routes.ts'
import { questionRoutes } from './routes/question-routes.ts'
import { runRoutes } from './routes/run-routes.ts'

/** Every question and action of the dashboard. */
export const dashboardRoutes = (context: DashboardContext, now: ReturnType<typeof openNow>): readonly Route[] => [
  ...nowRoutes(now),
  ...failureRoutes,
  ...coverageRoutes(context),
  ...personRoutes,
  ...runRoutes,
  ...questionRoutes,
  ...quarantineRoutes,
]
