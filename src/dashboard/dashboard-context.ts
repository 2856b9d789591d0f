import { z } from 'zod'
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

/** A number by which we know a person, a record or an entry. */
export const ownId = z.string().regex(/^\d{1,18}$/)

/** The rows of a page; its list is asked for one more. */
export const PAGE_ROWS = 50

/** The rows of a page, and the id after which the next page begins; null where this page is the last. */
export function pageOf<T extends { readonly id: string }>(found: readonly T[]) {
  const rows = found.slice(0, PAGE_ROWS)
  return { rows, nextBefore: found.length > PAGE_ROWS ? (rows.at(-1)?.id ?? null) : null }
}

/** For the audit, of a choice by ids or by a cause: our own ids, a hundred at most, and no reason, which may name a person. */
export const recordedChoice = <T extends object>(choice: T | { readonly ids: readonly string[] }) => ({
  what: 'ids' in choice ? { ids: choice.ids.slice(0, 100) } : choice,
})

/** For the audit: the profile whom an action concerns, and our own ids and settings. */
type Recorded = { profileId?: string | undefined; what?: Record<string, unknown> }

export type DashboardRoute = PageRoute<DashboardContext, Visit, Recorded>

export const { defineRead, defineAct } = pageRoutesOf<DashboardContext, Visit, Recorded>()
