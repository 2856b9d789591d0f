import { z } from 'zod'
import { pulledStreams, pushedStreams } from '../../../config/streams.ts'
import { UsageProblem } from '../../base/errors.ts'
import { createQuarantine } from '../../pipeline/warehouse/quarantine/stored-quarantine.ts'
import { type DashboardContext, defineAct, defineRead, shownName, type Visit } from '../dashboard-context.ts'
import { type FittingValue, fittingValues } from '../fitting-values.ts'

const LISTED_MAX = 500
const ownId = z.string().regex(/^\d{1,18}$/)

export type QuarantineAnswer = Awaited<ReturnType<typeof listRecords>>
export type QuarantinedAnswer = Awaited<ReturnType<typeof showRecord>>

async function listRecords({ reading }: DashboardContext, _query: object, visit: Visit) {
  const found = await createQuarantine({ pool: reading, streams: pulledStreams }).list({}, LISTED_MAX)
  return found.map(({ externalId, ...one }) => ({ ...one, name: shownName(visit, { ...one, externalId }) }))
}

/** The body is health data: it is shown only after values were switched on, and the look is recorded. */
async function showRecord({ reading, audit }: DashboardContext, { id }: { id: string }, visit: Visit) {
  if (!visit.values)
    throw new UsageProblem('The record holds health values.', {
      hint: 'Switch “Health values” on: each look is recorded.',
    })
  const found = await createQuarantine({ pool: reading, streams: pulledStreams }).show(id)
  if (!found) throw new UsageProblem('The record is not in quarantine any more.')
  const { externalId, ...record } = found
  const { profileId } = record
  const { name: who, role } = visit.actor
  await audit.record({
    who,
    role,
    action: 'look at quarantined record',
    profileId,
    what: { id },
  })
  return { ...record, name: shownName(visit, { profileId, externalId }), fitting: fittingOf(record) }
}

/** At the place of the fault; of the whole record where the schema knows no such place. */
function fittingOf({ stream, direction, path }: { stream: string; direction: string; path: string }): FittingValue[] {
  const streams = direction === 'push' ? pushedStreams : pulledStreams
  const schema = streams.find(({ name }) => name === stream)?.schema
  if (!schema) return []
  const there = fittingValues(schema, path)
  return there.length > 0 ? there : fittingValues(schema, '')
}

export const quarantineRoutes = [
  defineRead({ name: 'quarantine', query: z.object({}), answer: listRecords }),
  defineRead({ name: 'quarantine/record', query: z.object({ id: ownId }), answer: showRecord }),
  defineAct({
    name: 'quarantine/replay',
    body: z.strictObject({ ids: z.array(ownId).max(LISTED_MAX).optional() }),
    recorded: ({ ids }) => ({ what: ids ? { ids: ids.slice(0, 100) } : { all: true } }),
    act: ({ pipeline }, { ids }) => createQuarantine({ pool: pipeline.pool, streams: pulledStreams }).replay({ ids }),
  }),
]
