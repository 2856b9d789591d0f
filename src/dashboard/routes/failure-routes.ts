import { z } from 'zod'
import { UnknownId } from '../../base/errors.ts'
import { retryRecordedFailures } from '../../operations/retry-failures.ts'
import { causePageKey, readFailureGroups } from '../../pipeline/warehouse/reports/cause-groups.ts'
import {
  createFailures,
  type FailureFilter,
  failurePageKey,
  type RecordedFailure,
} from '../../pipeline/warehouse/runs/stored-failures.ts'
import {
  type DashboardContext,
  defineAct,
  defineRead,
  PAGE_ROWS,
  recordedChoice,
  shownName,
  type Visit,
} from '../dashboard-context.ts'

export type FailureGroupsAnswer = Awaited<ReturnType<typeof readFailureGroups>>
export type FailuresAnswer = Awaited<ReturnType<typeof listShown>>

/** A page of the failures of one cause, the newest first. */
async function listShown({ reading }: DashboardContext, filter: z.output<typeof failuresQuery>, visit: Visit) {
  const { failures: found, nextBefore } = await createFailures({ pool: reading }).listPage(filter, PAGE_ROWS)
  const failures = found.map(({ externalId, ...failure }) => {
    const profileId = profileIdOf(failure)
    return { ...failure, profileId, name: shownName(visit, { profileId, externalId }) }
  })
  return { failures, nextBefore }
}

/** The id of a failure begins with its kind and the profile. */
const profileIdOf = ({ id }: Pick<RecordedFailure, 'id'>): string => id.split(':')[1] ?? ''

const cause = z.strictObject({ cause: z.string().length(32) })
const failuresQuery = cause.extend({ before: z.string().regex(failurePageKey).optional() })
const CHOSEN_MAX = 500
/** All failures of a cause, or some of them. */
const chosen = z.union([cause, z.strictObject({ ids: z.array(z.string().max(200)).min(1).max(CHOSEN_MAX) })])

async function requireChosen({ reading }: DashboardContext, filter: FailureFilter): Promise<void> {
  const [found] = await createFailures({ pool: reading }).list(filter, 1)
  if (found) return
  throw new UnknownId('choose failures: none of these is recorded', {
    hint: 'They may have been repeated or discarded meanwhile: load the list again.',
  })
}

export const failureRoutes = [
  defineRead({
    name: 'failure-groups',
    query: z.object({ before: z.string().regex(causePageKey).optional() }),
    answer: ({ reading }, { before }) => readFailureGroups(reading, before),
  }),
  defineRead({
    name: 'failures',
    query: failuresQuery,
    answer: listShown,
  }),
  defineAct({
    name: 'failures/retry',
    body: chosen,
    recorded: recordedChoice,
    requireChosen,
    act: ({ pipeline, config, signal }, filter) =>
      retryRecordedFailures({ ...pipeline, config, signal, joinQueue: async () => pipeline.queue }, filter),
  }),
  defineAct({
    name: 'failures/discard',
    body: chosen,
    recorded: recordedChoice,
    requireChosen,
    act: async ({ pipeline }, filter) => ({ discarded: await createFailures(pipeline).discard(filter) }),
  }),
]
