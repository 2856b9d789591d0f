import { parseArgs } from 'node:util'
import { createDerivation, type Outcome, outcomeOf } from '../../src/service/derive/derivation.ts'
import {
  derive,
  draftsOfComparedDay,
  draftsOfDay,
  draftsOfMonth,
  draftsOfWeek,
  factsOf,
} from '../../src/service/derive/derive.ts'
import type { DayFacts } from '../../src/service/derive/facts.ts'
import { dayAt } from '../../src/service/derive/local-time.ts'
import { type Log, unknownPerson } from '../../src/service/derive/log.ts'
import { factDaysAround, unitsAfter } from '../../src/service/recompute/reach.ts'
import { logsOf, peopleOf } from '../../src/service/sandbox/people/people.ts'
import { logOf, profileId } from '../derive/logs.ts'

/**
 * What deriving costs: sixty days of one profile from scratch, beside merely parsing the JSON of the same logs; and one
 * new day on top of them, as the recomputation does it but without the database, beside the whole. The new day once
 * more on top of four times as many days tells whether its cost stays what it is.
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

const day = 86_400_000
const endMs = Date.parse('2026-11-18T23:59:00Z')
const person = { ...unknownPerson, birthDate: '1984-02-29', gender: 'Female' }

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

function timed(work: () => unknown): number {
  const startedAt = performance.now()
  work()
  return performance.now() - startedAt
}

function livedDays(count: number): Log[] {
  const [one] = peopleOf('bench', 1)
  if (!one) throw new Error('make bench logs: the sample people are gone')
  return logsOf(one, { startMs: endMs - count * day, endMs }).map(logOf)
}

/** Everything that is kept of all days but the newest, and the work of adding that one. */
function newDay(logs: readonly Log[]): () => unknown {
  const asOf = endMs + 60_000
  const today = dayAt(endMs, 0)
  const older = logs.filter((log) => dayAt(log.startAt, log.startOffset) < today)
  const facts = factsOf({ logs: older, person, asOf })
  const before = createDerivation({ profileId, person, asOf, facts })
  const kept = new Map(facts.map((one): [number, Outcome] => [one.day, outcomeOf(before, one)]))
  const [factsText, outcomesText] = [JSON.stringify(facts.slice(-220)), JSON.stringify([...kept].slice(-220))]
  const near = logs.filter((log) => dayAt(log.startAt, log.startOffset) >= today - 4)
  return () => {
    const wanted = factDaysAround(today)
    const stored: DayFacts[] = JSON.parse(factsText)
    const fresh = factsOf({ logs: near, person, asOf }, wanted)
    const known = new Map<number, Outcome>(JSON.parse(outcomesText))
    for (const one of wanted) known.delete(one)
    const all = [...stored.filter((one) => !wanted.includes(one.day)), ...fresh]
    const derivation = createDerivation({ profileId, person, asOf, facts: all, known })
    const units = unitsAfter(
      { changed: [today], passed: [today - 1, today] },
      all.map((one) => one.day),
    )
    return [
      ...units.days.flatMap((one) => draftsOfDay(derivation, one)),
      ...units.compared.flatMap((one) => draftsOfComparedDay(derivation, one)),
      ...units.mondays.flatMap((one) => draftsOfWeek(derivation, one)),
      ...units.months.flatMap((one) => draftsOfMonth(derivation, one)),
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
    scratch: () => derive({ logs, person, asOf: endMs, profileId }),
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
