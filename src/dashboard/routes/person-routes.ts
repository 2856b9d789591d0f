import { z } from 'zod'
import { pulledStreams } from '../../../config/streams.ts'
import { storableDaySchema } from '../../base/contract/instant-schemas.ts'
import { scoreTypes } from '../../base/contract/score.ts'
import { Problem, UnknownId, UsageProblem } from '../../base/errors.ts'
import { reasonText } from '../../operations/day-report-text.ts'
import { eraseAndProve } from '../../operations/erase-and-prove.ts'
import { fetchExplanation } from '../../operations/fetch-explanation.ts'
import { findGaps } from '../../pipeline/ledger/coverage-gaps.ts'
import type { Pool } from '../../pipeline/warehouse/postgres/warehouse-pool.ts'
import { readKnownCoverage } from '../../pipeline/warehouse/reports/coverage-report.ts'
import { readPersonDays, readScoreTypes, searchPeople } from '../../pipeline/warehouse/reports/find-people.ts'
import { type PersonValues, readPersonValues } from '../../pipeline/warehouse/reports/person-values.ts'
import { createProfileReport } from '../../pipeline/warehouse/reports/profile-report.ts'
import { type DashboardContext, defineAct, defineRead, ownId, shownName, type Visit } from '../dashboard-context.ts'

const person = z.strictObject({ profileId: ownId })
const dayOfPerson = person.extend({ date: storableDaySchema })
type DayOfPerson = z.output<typeof dayOfPerson>
const GAPS_SHOWN = 50
const DAYS_SHOWN = 60

export type PeopleAnswer = Array<{ profileId: string; name: string; state: string }>
export type PersonAnswer = Awaited<ReturnType<typeof readPerson>>
export type ValuesAnswer = PersonValues
export type DayScoresAnswer = Awaited<ReturnType<typeof readDayScores>>
export type ExplanationAnswer = Awaited<ReturnType<typeof fetchExplanation>>

async function externalIdOf({ reading }: DashboardContext, { profileId }: z.output<typeof person>): Promise<string> {
  const [found] = await searchPeople(reading, { profileId })
  if (found) return found.externalId
  throw new UnknownId('show person: nobody has this id', { hint: 'An erased person is gone for good.' })
}

/** All that is known of a person but health values. */
async function readPerson(context: DashboardContext, { profileId }: z.output<typeof person>, visit: Visit) {
  const { reading } = context
  const externalId = await externalIdOf(context, { profileId })
  const report = createProfileReport({ pool: reading })
  const [profile, known, days, stored, devices] = await Promise.all([
    report.show(externalId),
    readKnownCoverage({ pool: reading, streams: pulledStreams }, { afterId: '0', limit: 1, ids: [profileId] }),
    readPersonDays(reading, { profileId, days: DAYS_SHOWN }),
    report.countRows(profileId),
    report.listDevices(profileId),
  ])
  const gaps = known.flatMap((state) =>
    findGaps(state).map((gap) => ({
      stream: state.stream,
      ...gap,
      fromAt: new Date(gap.startMs),
      toAt: new Date(gap.endMs),
    })),
  )
  return {
    ...profile,
    externalId: undefined,
    name: shownName(visit, { profileId, externalId }),
    days,
    devices,
    gaps: gaps.slice(0, GAPS_SHOWN),
    gapsCount: gaps.length,
    stored: stored.filter(({ rows }) => rows > 0),
  }
}

/** Health values are shown only after they were switched on, and each look is recorded. */
async function recordLook(
  { audit }: DashboardContext,
  { actor, values }: Visit,
  { profileId, action }: { profileId: string; action: string },
) {
  if (!values)
    throw new UsageProblem('Health values are switched off.', { hint: 'Switch them on: each look is recorded.' })
  await audit.record({ who: actor.name, role: actor.role, action, profileId })
}

/** Which scores of a day are stored, and why the others are not there. No values; the look is recorded all the same. */
async function readDayScores(context: DashboardContext, { profileId, date }: DayOfPerson, { actor }: Visit) {
  const { audit, reading, pipeline } = context
  await audit.record({ who: actor.name, role: actor.role, action: 'look at missing scores', profileId, what: { date } })
  const externalId = await externalIdOf(context, { profileId })
  const stored = await readScoreTypes(reading, { profileId, localDate: date })
  const absent = scoreTypes.filter((type) => !stored.includes(type))
  const missing = absent.map(async (score) => {
    try {
      return { score, ...absenceOf(await fetchExplanation(pipeline.upstream.api, { externalId, date, score })) }
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      return { score, reason: `upstream does not say: ${error.message}`, factors: [] }
    }
  })
  return { stored, missing: await Promise.all(missing) }
}

/** The reason of the score, and other reasons of its factors, each with the names of its factors. */
function absenceOf({ value, reason: given, lacks, missing }: ExplanationAnswer) {
  if (value !== null) return { reason: 'upstream has it: it is not read yet', factors: [] }
  const reason = given ?? ''
  const others = missing.filter((factor) => !reason.includes(factor.reason))
  const factors = [...Map.groupBy(others, (factor) => factor.reason)].map(([shared, group]) => ({
    names: group.map(({ name }) => name),
    reason: shared,
  }))
  return { reason: reasonText({ reason, lacks }), factors }
}

/** Masked names cannot be searched: who found a person by a beginning would know how the name begins. */
function findPeople(reading: Pool, search: string, { masked }: Visit) {
  if (!masked || search === '') return searchPeople(reading, { search })
  return ownId.safeParse(search).success ? searchPeople(reading, { profileId: search }) : []
}

export const personRoutes = [
  defineRead({
    name: 'people',
    query: z.object({ search: z.string().max(100) }),
    async answer({ reading }, { search }, visit): Promise<PeopleAnswer> {
      const found = await findPeople(reading, search, visit)
      return found.map(({ externalId, ...shown }) => ({ ...shown, name: shownName(visit, { ...shown, externalId }) }))
    },
  }),
  defineRead({ name: 'person', query: person, answer: readPerson }),
  defineRead({
    name: 'person/values',
    query: person,
    async answer(context, { profileId }, visit): Promise<PersonValues> {
      await recordLook(context, visit, { profileId, action: 'look at values' })
      return readPersonValues(context.reading, await externalIdOf(context, { profileId }), DAYS_SHOWN)
    },
  }),
  defineRead({
    name: 'person/explanation',
    query: dayOfPerson.extend({ score: z.enum(scoreTypes) }),
    async answer(context, { profileId, date, score }, visit) {
      await recordLook(context, visit, { profileId, action: 'look at explanation' })
      const externalId = await externalIdOf(context, { profileId })
      const found = await fetchExplanation(context.pipeline.upstream.api, { externalId, date, score })
      return { ...found, reason: reasonText(found) }
    },
  }),
  defineRead({ name: 'person/day-scores', query: dayOfPerson, answer: readDayScores }),
  defineAct({
    name: 'person/erase',
    body: person,
    recorded: ({ profileId }) => ({ profileId }),
    requireChosen: externalIdOf,
    async act(context, { profileId }) {
      const { pipeline, signal } = context
      const externalId = await externalIdOf(context, { profileId })
      const proof = await eraseAndProve({ pipeline, signal }, externalId, { say: () => undefined })
      return {
        complete: proof.complete,
        rows: proof.removed.reduce((sum, { rows }) => sum + rows, 0),
        upstream: proof.upstream,
      }
    },
  }),
]
