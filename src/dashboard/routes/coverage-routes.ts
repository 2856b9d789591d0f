import { z } from 'zod'
import { pulledStreams } from '../../../config/streams.ts'
import { storableDaySchema as day } from '../../base/contract/instant-schemas.ts'
import { UnknownId } from '../../base/errors.ts'
import { DAY } from '../../base/time/units.ts'
import { evidenceLines, whatToDo } from '../../operations/day-report-text.ts'
import { makePlan } from '../../operations/make-plan.ts'
import { produceRun } from '../../operations/produce-run.ts'
import { createCoverageMap, troubleKinds } from '../../pipeline/warehouse/reports/coverage-map.ts'
import { readDayReports } from '../../pipeline/warehouse/reports/day-report.ts'
import { type DashboardContext, defineAct, defineRead, ownId, shownName, type Visit } from '../dashboard-context.ts'
import { MAP_DAYS_MAX } from '../map-days.ts'

const streamNames = pulledStreams.map(({ name }) => name)
const stream = z.enum(streamNames as [string, ...string[]]) // config/streams.ts has some
const ROWS_AT_ONCE_MAX = 200
const MARKED_MAX = 1000

const rowsQuery = z.object({
  stream,
  sort: z.enum(['worst', 'added']).default('worst'),
  only: z.enum(troubleKinds).optional(),
  search: z.string().max(100).default(''),
  from: z.coerce.number().int().min(0),
  count: z.coerce.number().int().min(1).max(ROWS_AT_ONCE_MAX),
  lastDay: day,
  days: z.coerce.number().int().min(1).max(MAP_DAYS_MAX),
})

const marked = z.strictObject({
  stream,
  profileIds: z.array(ownId).min(1).max(MARKED_MAX),
  fromDay: day,
  toDay: day,
  again: z.boolean(),
})

export type MapAnswer = {
  total: number
  counts: Record<(typeof troubleKinds)[number] | 'troubled' | 'unread', number>
  rows: Array<{ profileId: string; name: string; cells: string }>
}
export type WhyAnswer = Awaited<ReturnType<typeof readWhy>>
export type PlanAnswer = Awaited<ReturnType<typeof makePlan>>

async function readWhy(
  { reading }: DashboardContext,
  { profileId, date, ...rest }: { profileId: string; date: string; stream?: string | undefined },
  visit: Visit,
) {
  const streams = rest.stream === undefined ? streamNames : [rest.stream]
  const reports = await readDayReports(reading, { profileId, localDate: date, streams })
  return reports.map((report) => {
    const externalId = shownName(visit, { profileId, externalId: report.externalId })
    const shown = { ...report, externalId }
    return { ...shown, evidence: evidenceLines(shown), todo: whatToDo(shown) }
  })
}

const spanOf = ({ fromDay, toDay }: z.output<typeof marked>) => ({
  from: new Date(`${fromDay}T00:00:00Z`),
  to: new Date(Date.parse(`${toDay}T00:00:00Z`) + DAY),
})

async function requireSomebody({ pipeline }: DashboardContext, { profileIds }: z.output<typeof marked>): Promise<void> {
  const { ids } = await pipeline.profiles.list('0', 1, profileIds)
  if (ids.length === 0) throw new UnknownId('back-fill: nobody has one of these ids')
}

/** A back-fill continues when the dashboard stops: a scheduler takes it over. */
async function startBackfill({ pipeline, config, signal }: DashboardContext, body: z.output<typeof marked>) {
  const { from, to } = spanOf(body)
  const run = await pipeline.runs.create('backfill', {
    from: from.getTime(),
    to: to.getTime(),
    streams: [body.stream],
    profileIds: body.profileIds,
    ...(body.again ? { again: true } : {}),
  })
  const { enqueued } = await produceRun({ pipeline, config, signal }, run)
  return { runId: run.id, enqueued }
}

export const coverageRoutes = ({ reading }: Pick<DashboardContext, 'reading'>) => {
  const map = createCoverageMap({ pool: reading })
  return [
    defineRead({
      name: 'coverage',
      query: rowsQuery,
      async answer(_context, { from, count, lastDay, days, ...selection }, visit): Promise<MapAnswer> {
        const found = await map.read(
          { only: undefined, masked: visit.masked, ...selection },
          { from, count, lastDay, days },
        )
        const rows = found.rows.map(({ externalId, ...row }) => ({
          ...row,
          name: shownName(visit, { ...row, externalId }),
        }))
        return { ...found, rows }
      },
    }),
    defineRead({
      name: 'why',
      query: z.object({ profileId: ownId, date: day, stream: stream.optional() }),
      answer: readWhy,
    }),
    defineRead({
      name: 'coverage/plan',
      query: marked.extend({
        profileIds: z
          .string()
          .transform((text) => text.split(','))
          .pipe(marked.shape.profileIds),
        again: z.stringbool(),
      }),
      answer: ({ reading: pool, config, signal }, query) =>
        makePlan(pool, { config, signal }, { ...query, ...spanOf(query), streams: [query.stream] }),
    }),
    defineAct({
      name: 'coverage/backfill',
      body: marked,
      recorded: ({ profileIds, ...what }) => ({ what: { ...what, profiles: profileIds.length } }),
      requireChosen: requireSomebody,
      act: startBackfill,
    }),
  ]
}
