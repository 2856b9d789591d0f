import { z } from 'zod'
import { UsageProblem } from '../../base/errors.ts'
import { readAuditPage } from '../../pipeline/warehouse/audit/stored-audit.ts'
import { type DashboardContext, defineRead, shownName, type Visit } from '../dashboard-context.ts'

const PAGE_ROWS = 50

const auditQuery = z.object({
  who: z.string().max(64).default(''),
  action: z.string().max(64).default(''),
  profileId: z
    .string()
    .regex(/^\d{1,18}$/)
    .optional(),
  before: z
    .string()
    .regex(/^\d{1,18}$/)
    .optional(),
})

export type AuditAnswer = Awaited<ReturnType<typeof listPage>>

/** A page of the record of looks and actions, the newest first. It shows what others did, so a person who may only look gets none of it. */
async function listPage({ reading }: DashboardContext, query: z.output<typeof auditQuery>, visit: Visit) {
  if (visit.actor.role !== 'act')
    throw new UsageProblem('The audit is shown to people who may act.', { hint: 'Sign in as one of them.' })
  const { entries, names, actions } = await readAuditPage(reading, { ...query, limit: PAGE_ROWS + 1 })
  const shown = entries.slice(0, PAGE_ROWS)
  return {
    actions,
    names,
    entries: shown.map(({ externalId, ...entry }) => ({
      ...entry,
      name:
        externalId === null || entry.profileId === null
          ? ''
          : shownName(visit, { profileId: entry.profileId, externalId }),
    })),
    nextBefore: entries.length > PAGE_ROWS ? (shown.at(-1)?.id ?? null) : null,
  }
}

export const auditRoutes = [defineRead({ name: 'audit', query: auditQuery, answer: listPage })]
