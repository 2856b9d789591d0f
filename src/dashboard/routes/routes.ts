import type { DashboardContext } from '../dashboard-context.ts'
import type { Route } from '../dashboard-routes.ts'
import type { openNow } from '../read-now.ts'
import { coverageRoutes } from './coverage-routes.ts'
import { failureRoutes } from './failure-routes.ts'
import { nowRoutes } from './now-routes.ts'
import { personRoutes } from './person-routes.ts'
import { quarantineRoutes } from './quarantine-routes.ts'
import { questionRoutes } from './question-routes.ts'
import { runRoutes } from './run-routes.ts'

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
