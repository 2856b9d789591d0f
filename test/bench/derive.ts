import { parseArgs } from 'node:util'
import { dayNumberAt, dayText } from '../../src/base/time/local-time.ts'
import { DAY } from '../../src/base/time/units.ts'
import type { DayFacts } from '../../src/service/derive/day/facts.ts'
import { factsOfDays } from '../../src/service/derive/day/facts-of-days.ts'
import type { DataLog } from '../../src/service/derive/day/parsed-log.ts'
import { createDerivation, type DayOutcome, dayOutcomeOf } from '../../src/service/derive/days/derivation.ts'
import { monthArchetypeDrafts } from '../../src/service/derive/records/archetype-records.ts'
import { draftsOfComparedDay, draftsOfDay, draftsOfWeek } from '../../src/service/derive/records/drafts-by-unit.ts'
import { factDaysOf } from '../../src/service/recompute/portion.ts'
import { unitsReached } from '../../src/service/recompute/reach.ts'
import { logsOf, samplePeople } from '../../src/service/sandbox/people/sample-people.ts'
import { derive } from '../service/derive/derive-at-once.ts'
import { logOf, profileId, unknownDemographics } from '../service/derive/made-logs.ts'

/**
 * The cost, in processor time, of deriving sixty days of one profile from scratch, against parsing the JSON of the same logs; and the cost of
 * one new day, as the recomputation derives it but without the database, against the sixty days. The same new day on top
 * of four times as many days shows whether its cost stays the same.
 */
export type Measure = {
  name: string
  value: number
  unit: string
  ratio: number
  against: string
  goal: string
  holds: boolean
}

const endMs = Date.parse('2026-11-18T23:59:00Z')
const person = { ...unknownDemographics, birthDate: '1984-02-29', gender: 'Female' }

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

function timed(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

function livedDays(count: number): DataLog[] {
  const [one] = samplePeople('bench', 1)
  if (!one) throw new Error('make bench logs: the sample people are gone')
  return logsOf(one, { startMs: endMs - count * DAY, endMs }).map(logOf)
}

/** Prepares the stored facts and outcomes of all days but the newest, and returns the work of adding the newest day. */
function newDay(logs: readonly DataLog[]): () => unknown {
  const asOf = endMs + 60_000
  const today = dayNumberAt(endMs, 0)
  const older = logs.filter((log) => dayNumberAt(log.startMs, log.startOffset) < today)
  const facts = factsOfDays({ logs: older, demographics: person, asOfMs: asOf })
  const before = createDerivation({ profileId, demographics: person, asOfMs: asOf, facts })
  const kept = new Map(facts.map((one): [number, DayOutcome] => [one.day, dayOutcomeOf(before, one)]))
  const [factsText, outcomesText] = [JSON.stringify(facts.slice(-220)), JSON.stringify([...kept].slice(-220))]
  const near = logs.filter((log) => dayNumberAt(log.startMs, log.startOffset) >= today - 4)
  return () => {
    const wanted = factDaysOf({ localDay: dayText(today), mark: '', isSingle: false })
    const stored: DayFacts[] = JSON.parse(factsText)
    const fresh = factsOfDays({ logs: near, demographics: person, asOfMs: asOf }, wanted)
    const known = new Map<number, DayOutcome>(JSON.parse(outcomesText))
    for (const one of wanted) known.delete(one)
    const all = [...stored.filter((one) => !wanted.includes(one.day)), ...fresh]
    const derivation = createDerivation({ profileId, demographics: person, asOfMs: asOf, facts: all, known })
    const units = unitsReached(
      { changed: [today], passed: [today - 1, today] },
      all.map((one) => one.day),
    )
    return [
      ...units.days.flatMap((one) => draftsOfDay(derivation, one)),
      ...units.compared.flatMap((one) => draftsOfComparedDay(derivation, one)),
      ...units.mondays.flatMap((one) => draftsOfWeek(derivation, one)),
      ...units.months.flatMap((one) => monthArchetypeDrafts(derivation, one)),
    ]
  }
}

export async function run({ quick }: { quick: boolean }): Promise<Measure[]> {
  const rounds = quick ? 5 : 15
  const logs = livedDays(60)
  const text = JSON.stringify(logs)
  const [addDay, addDayToMany] = [newDay(logs), newDay(livedDays(240))]
  const works = {
    parse: () => JSON.parse(text),
    scratch: () => derive({ logs, demographics: person, asOfMs: endMs, profileId }),
    added: addDay,
    addedToMany: addDayToMany,
  }
  const times = { parse: [] as number[], scratch: [] as number[], added: [] as number[], addedToMany: [] as number[] }
  for (let round = -2; round < rounds; round += 1) {
    for (const name of ['parse', 'scratch', 'added', 'addedToMany'] as const) {
      const took = timed(works[name])
      if (round >= 0) times[name].push(took)
    }
  }
  const [parse, scratch, added, addedToMany] = [times.parse, times.scratch, times.added, times.addedToMany].map(median)
  if (!parse || !scratch || !added || !addedToMany) throw new Error('measure derivation: nothing took any time')
  return [
    measure('derivation: 60 days from scratch', scratch, {
      ratio: scratch / parse,
      against: `JSON.parse of the same ${logs.length} logs`,
      most: 10,
    }),
    measure('derivation: one new day', added, { ratio: added / scratch, against: '60 days from scratch', most: 0.2 }),
    measure('derivation: one new day after 240', addedToMany, {
      ratio: addedToMany / added,
      against: 'one new day after 60',
      most: 2,
    }),
  ]
}

function measure(
  name: string,
  ms: number,
  { ratio, against, most }: { ratio: number; against: string; most: number },
): Measure {
  const value = Math.round(ms * 10) / 10
  return {
    name,
    value,
    unit: 'ms',
    ratio: Math.round(ratio * 1000) / 1000,
    against,
    goal: `at most ${most}`,
    holds: ratio <= most,
  }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { quick: { type: 'boolean', default: false } } })
  process.stdout.write(`${JSON.stringify({ measures: await run(values) }, null, 2)}\n`)
}
