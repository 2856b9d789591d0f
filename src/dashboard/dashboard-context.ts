import type { Config } from '../../config/env.ts'
import type { Log } from '../base/log.ts'
import type { EngineAddresses } from '../operations/addresses.ts'
import type { FleetWatch } from '../operations/fleet-watch.ts'
import type { Pipeline } from '../operations/pipeline.ts'
import type { Audit } from '../pipeline/warehouse/audit/stored-audit.ts'
import type { Pool } from '../pipeline/warehouse/postgres/warehouse-pool.ts'
import type { Actor } from '../web/access.ts'
import { type PageRoute, pageRoutesOf } from '../web/page-questions.ts'

/** The parts that the routes work with. */
export type DashboardContext = {
  readonly pipeline: Pipeline
  /** Connections that may change nothing. */
  readonly reading: Pool
  readonly config: Config
  readonly addresses: EngineAddresses
  readonly watch: FleetWatch
  readonly audit: Audit
  readonly log: Log
  /** Aborted when the dashboard closes. */
  readonly signal: AbortSignal
}

/** The user who asks, and how people and values are shown to them. */
export type Visit = { readonly actor: Actor; readonly masked: boolean; readonly values: boolean }

/** The name of a person as this visit may see it. */
export const shownName = ({ masked }: Visit, { profileId, externalId }: { profileId: string; externalId: string }) =>
  masked ? `person ${profileId}` : externalId

/** For the audit: the profile whom an action concerns, and our own ids and settings. */
type Recorded = { profileId?: string | undefined; what?: Record<string, unknown> }

export type DashboardRoute = PageRoute<DashboardContext, Visit, Recorded>

export const { defineRead, defineAct } = pageRoutesOf<DashboardContext, Visit, Recorded>()
