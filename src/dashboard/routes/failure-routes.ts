import { z } from 'zod'
import { retryRecordedFailures } from '../../operations/retry-failures.ts'
import { readFailureGroups } from '../../pipeline/warehouse/reports/failure-groups.ts'
import { createFailures, type RecordedFailure } from '../../pipeline/warehouse/runs/stored-failures.ts'
import { type DashboardContext, defineAct, defineRead, shownName, type Visit } from '../dashboard-context.ts'

const FAILURES_SHOWN = 200

export type FailureGroupsAnswer = Awaited<ReturnType<typeof readFailureGroups>>
export type FailuresAnswer = Awaited<ReturnType<typeof listShown>>

/** The failures of one cause. */
async function listShown({ reading }: DashboardContext, cause: string, visit: Visit) {
  const found = await createFailures({ pool: reading }).list({ cause }, FAILURES_SHOWN)
  return found.map(({ externalId, ...failure }) => {
    const profileId = profileIdOf(failure)
    return { ...failure, profileId, name: shownName(visit, { profileId, externalId }) }
  })
}

/** The id of a failure begins with its kind and the profile. */
const profileIdOf = ({ id }: Pick<RecordedFailure, 'id'>): string => id.split(':')[1] ?? ''

const chosen = z.strictObject({ cause: z.string().length(32) })

export const failureRoutes = [
  defineRead({
    name: 'failure-groups',
    query: z.object({}),
    answer: ({ reading }) => readFailureGroups(reading),
  }),
  defineRead({
    name: 'failures',
    query: chosen,
    answer: (context, { cause }, visit) => listShown(context, cause, visit),
  }),
  defineAct({
    name: 'failures/retry',
    body: chosen,
    recorded: ({ cause }) => ({ what: { cause } }),
    act: ({ pipeline, config, signal }, { cause }) =>
      retryRecordedFailures({ ...pipeline, config, signal, joinQueue: async () => pipeline.queue }, { cause }),
  }),
  defineAct({
    name: 'failures/discard',
    body: chosen,
    recorded: ({ cause }) => ({ what: { cause } }),
    act: async ({ pipeline }, { cause }) => ({ discarded: await createFailures(pipeline).discard({ cause }) }),
  }),
]
