import { z } from 'zod'
import { pulledStreams, pushedStreams } from '../../../config/streams.ts'
import { UnknownId, UsageProblem } from '../../base/errors.ts'
import { type Schema, typeWords } from '../../base/text/plain-types.ts'
import { quarantineOf } from '../../operations/open-quarantine.ts'
import { causePageKey, readQuarantineGroups } from '../../pipeline/warehouse/reports/cause-groups.ts'
import {
  type DashboardContext,
  defineAct,
  defineRead,
  ownId,
  PAGE_ROWS,
  pageOf,
  recordedChoice,
  shownName,
  type Visit,
} from '../dashboard-context.ts'

const CHOSEN_MAX = 500
const cause = z.string().length(32)
/** All is said as such: a choice that was left out by mistake chooses nothing. */
const choice = z.union([
  z.strictObject({ all: z.literal(true) }),
  z.strictObject({ cause }),
  z.strictObject({ ids: z.array(ownId).min(1).max(CHOSEN_MAX) }),
])
const filterOf = (chosen: z.output<typeof choice>) => ('all' in chosen ? {} : chosen)

export type QuarantineGroupsAnswer = Awaited<ReturnType<typeof readQuarantineGroups>>
export type QuarantineAnswer = Awaited<ReturnType<typeof listPage>>
export type QuarantinedAnswer = Awaited<ReturnType<typeof showRecord>>

/** A page of the records of one cause, the newest first. `nextBefore` continues it; null: it was the last. */
async function listPage(
  { reading }: DashboardContext,
  page: { cause: string; before?: string | undefined },
  visit: Visit,
) {
  const filter = { cause: page.cause, beforeId: page.before }
  const found = await quarantineOf(reading).listPage(filter, PAGE_ROWS + 1)
  const { rows, nextBefore } = pageOf(found)
  const records = rows.map(({ externalId, ...shown }) => ({
    ...shown,
    name: shownName(visit, { ...shown, externalId }),
  }))
  return { records, nextBefore }
}

/** The body is health data: it is shown only after values were switched on, and the look is recorded. */
async function showRecord({ reading, audit }: DashboardContext, { id }: { id: string }, visit: Visit) {
  if (!visit.values)
    throw new UsageProblem('The record holds health values.', {
      hint: 'Switch “Health values” on: each look is recorded.',
    })
  const found = await quarantineOf(reading).show(id)
  if (!found) throw new UnknownId('The record is not in quarantine any more.')
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

/** All of an empty quarantine is a choice too. */
async function requireChosen({ reading }: DashboardContext, chosen: z.output<typeof choice>): Promise<void> {
  if ('all' in chosen) return
  const [found] = await quarantineOf(reading).list(chosen, 1)
  if (found) return
  throw new UnknownId('choose records: none of these is in quarantine', {
    hint: 'They may have been replayed or discarded meanwhile: load the list again.',
  })
}

export const quarantineRoutes = [
  defineRead({
    name: 'quarantine-groups',
    query: z.object({ before: z.string().regex(causePageKey).optional() }),
    answer: ({ reading }, { before }) => readQuarantineGroups(reading, before),
  }),
  defineRead({ name: 'quarantine', query: z.object({ cause, before: ownId.optional() }), answer: listPage }),
  defineRead({ name: 'quarantine/record', query: z.object({ id: ownId }), answer: showRecord }),
  defineAct({
    name: 'quarantine/replay',
    body: choice,
    recorded: recordedChoice,
    requireChosen,
    act: ({ pipeline }, chosen) => quarantineOf(pipeline.pool).replay(filterOf(chosen)),
  }),
  defineAct({
    name: 'quarantine/discard',
    body: choice,
    recorded: recordedChoice,
    requireChosen,
    act: async ({ pipeline }, chosen) => ({
      discarded: await quarantineOf(pipeline.pool).discard(filterOf(chosen)),
    }),
  }),
]

type FittingValue = { readonly name: string; readonly required: boolean; readonly text: string }

const FIELDS_MAX = 60

/**
 * The values that a schema takes at a place within a record, in words. At the record itself, and wherever an object is wanted: each of
 * its fields. Empty: the schema knows no such place.
 */
export function fittingValues(schema: z.ZodType, path: string): FittingValue[] {
  const whole = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema // written by zod
  // A pushed item is named by its place in the request first.
  const words = path
    .replace(/^\[\d+\]\.?/, '')
    .split('.')
    .filter((word) => word !== '')
  let [shape, isRequired]: [Schema | undefined, boolean] = [whole, true]
  for (const word of words) {
    const parent: Schema | undefined = branchWith(shape, word)
    isRequired = parent?.required?.includes(word) ?? false
    shape = parent && partOf(parent, word)
  }
  if (!shape) return []
  const fields = Object.entries(objectIn(shape)?.properties ?? {}).slice(0, FIELDS_MAX)
  if (fields.length === 0) return [{ name: words.at(-1) ?? '', required: isRequired, text: textOf(shape) }]
  const required = objectIn(shape)?.required ?? []
  return fields.map(([name, field]) => ({ name, required: required.includes(name), text: textOf(field) }))
}

const textOf = (schema: Schema) =>
  typeWords(schema).replace('date-time', 'date-time, such as 2026-03-01T08:00:00+02:00')

const branchesOf = (shape: Schema | undefined): readonly Schema[] => shape?.anyOf ?? (shape ? [shape] : [])
const branchWith = (shape: Schema | undefined, word: string) => branchesOf(shape).find((shape) => partOf(shape, word))
const objectIn = (shape: Schema) => branchesOf(shape).find(({ properties }) => properties)

function partOf(shape: Schema, word: string): Schema | undefined {
  if (shape.properties?.[word]) return shape.properties[word]
  if (/^\d+$/.test(word) && shape.items) return shape.items
  const { additionalProperties: others } = shape
  return typeof others === 'object' && Object.keys(others).length > 0 ? others : undefined
}
