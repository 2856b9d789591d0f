import type { z } from 'zod'
import type { ActRoute, ReadRoute } from '../web/page-questions.ts'
import type { DashboardContext, Visit } from './dashboard-context.ts'

/** For the audit: the profile whom an action concerns, and our own ids and settings. */
type Recorded = { profileId?: string | undefined; what?: Record<string, unknown> }

type Read<Q extends z.ZodType, A> = ReadRoute<DashboardContext, Visit, Q, A>
type Act<B extends z.ZodType, A> = ActRoute<DashboardContext, Visit, Recorded, B, A>

export type Route = Read<z.ZodType, unknown> | Act<z.ZodType, unknown>

export const defineRead = <Q extends z.ZodType, A>(route: Omit<Read<Q, A>, 'kind'>): Read<Q, A> => ({
  kind: 'read',
  ...route,
})
export const defineAct = <B extends z.ZodType, A>(route: Omit<Act<B, A>, 'kind'>): Act<B, A> => ({
  kind: 'act',
  ...route,
})
