import { z } from 'zod'
import { UsageProblem } from '../../base/errors.ts'
import { readAuditPage } from '../../pipeline/warehouse/audit/stored-audit.ts'
import {
  type DashboardContext,
  defineRead,
  ownId,
  PAGE_ROWS,
  pageOf,
  shownName,
  type Visit,
} from '../dashboard-context.ts'

const auditQuery = z.object({
  who: z.string().max(64).default(''),
  action: z.string().max(64).default(''),
  profileId: ownId.optional(),
  before: ownId.optional(),
})

export type AuditAnswer = Awaited<ReturnType<typeof listPage>>

/** A page of the record of looks and actions, the newest first. It shows what others did, so a person who may only look gets none of it. */
async function listPage({ reading }: DashboardContext, query: z.output<typeof auditQuery>, visit: Visit) {
  if (visit.actor.role !== 'act')
    throw new UsageProblem('The audit is shown to people who may act.', { hint: 'Sign in as one of them.' })
  const { entries, names, actions } = await readAuditPage(reading, { ...query, limit: PAGE_ROWS + 1 })
  const { rows, nextBefore } = pageOf(entries)
  return {
    actions,
    names,
    entries: rows.map(({ externalId, ...entry }) => ({
      ...entry,
      name:
        externalId === null || entry.profileId === null
          ? ''
          : shownName(visit, { profileId: entry.profileId, externalId }),
    })),
    nextBefore,
  }
}

export const auditRoutes = [defineRead({ name: 'audit', query: auditQuery, answer: listPage })]
