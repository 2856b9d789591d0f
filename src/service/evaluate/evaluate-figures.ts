import { dayNumberFromText, dayText } from '../../base/time/local-time.ts'
import { type DayOutcome, parseDayOutcome } from '../derive/days/derivation.ts'
import { scoresFrom } from '../derive/days/scores.ts'
import type { Queryable } from '../store/service-pool.ts'
import { findProfileIds, readOutcomes } from '../store/stored-outcomes.ts'
import { type Correlation, correlationOverAll, correlationWithin, type DayPair } from './correlations.ts'
import type { ReferenceFigure } from './reference-file.ts'

type EvaluatedValue = {
  readonly kind: 'score' | 'factor' | 'biomarker'
  readonly name: string
  /** Over all pairs, within persons, and within persons with the derived value of the day before. */
  readonly all: Correlation
  readonly within: Correlation
  readonly lagged: Correlation
}

export type Evaluation = {
  readonly figures: number
  readonly persons: number
  readonly personsUnknown: number
  readonly references: readonly { readonly name: string; readonly values: readonly EvaluatedValue[] }[]
}

/**
 * Compares what this service derived with reference figures: Spearman's ρ of each reference with each score, the score of
 * each factor and each biomarker. Undefined when there is no such account.
 */
export async function evaluateFigures(
  db: Queryable,
  { account, figures, random }: { account: string; figures: readonly ReferenceFigure[]; random: () => number },
): Promise<Evaluation | undefined> {
  const byPerson = Map.groupBy(figures, ({ externalId }) => externalId)
  const ids = await findProfileIds(db, { account, externalIds: [...byPerson.keys()] })
  if (!ids) return undefined
  const pairs = createPairs()
  for (const [externalId, figures] of byPerson) {
    const profileId = ids.get(externalId)
    if (profileId === undefined) continue
    const days = figures.map(({ date }) => dayNumberFromText(date))
    const inOrder = days.toSorted((a, b) => a - b)
    const [firstDay, lastDay] = [dayText((inOrder[0] ?? 0) - 1), dayText(inOrder.at(-1) ?? 0)]
    const outcomes = await readOutcomes(db, { profileId, firstDay, lastDay })
    const values = new Map(
      outcomes.map(({ localDay, outcome }) => [dayNumberFromText(localDay), valuesOf(parseDayOutcome(outcome))]),
    )
    for (const [index, figure] of figures.entries()) pairs.add(profileId, figure, { values, day: days[index] ?? 0 })
  }
  return {
    figures: figures.length,
    persons: ids.size,
    personsUnknown: byPerson.size - ids.size,
    references: pairs.references().map(([name, subjects]) => ({ name, values: evaluatedValues(subjects, random) })),
  }
}

/** The numbers of a day that is over, by `kind name`. Biomarkers that are no numbers, such as clock times, are left out. */
function valuesOf({ over, factors, readings }: DayOutcome): Map<string, number> {
  if (!over.every(Boolean)) return new Map()
  return new Map([
    ...Object.values(scoresFrom(factors)).map(({ type, value }): [string, number] => [`score ${type}`, value]),
    ...Object.values(factors).map(({ name, score }): [string, number] => [`factor ${name}`, score]),
    ...readings.flatMap(({ type, value }): [string, number][] =>
      typeof value === 'number' ? [[`biomarker ${type}`, value]] : [],
    ),
  ])
}

type Subject = { readonly sameDay: Map<string, DayPair[]>; readonly dayBefore: Map<string, DayPair[]> }

/** Pairs by reference, by derived value and by person. */
function createPairs() {
  const references = new Map<string, Map<string, Subject>>()
  const append = (persons: Map<string, DayPair[]>, profileId: string, pair: DayPair) => {
    const person = persons.get(profileId)
    if (person) person.push(pair)
    else persons.set(profileId, [pair])
  }
  return {
    add(
      profileId: string,
      { name, value: reference }: ReferenceFigure,
      { values, day }: { values: ReadonlyMap<number, ReadonlyMap<string, number>>; day: number },
    ) {
      const subjects = references.get(name) ?? new Map<string, Subject>()
      references.set(name, subjects)
      const subjectOf = (subject: string) => {
        const known = subjects.get(subject) ?? { sameDay: new Map(), dayBefore: new Map() }
        subjects.set(subject, known)
        return known
      }
      for (const [subject, derived] of values.get(day) ?? [])
        append(subjectOf(subject).sameDay, profileId, { reference, derived })
      for (const [subject, derived] of values.get(day - 1) ?? [])
        append(subjectOf(subject).dayBefore, profileId, { reference, derived })
    },
    references: () => [...references],
  }
}

const kinds = ['score', 'factor', 'biomarker'] as const

function evaluatedValues(subjects: ReadonlyMap<string, Subject>, random: () => number): EvaluatedValue[] {
  return kinds.flatMap((kind) =>
    [...subjects]
      .filter(([subject]) => subject.startsWith(`${kind} `))
      .map(([subject, { sameDay, dayBefore }]) => ({
        kind,
        name: subject.slice(kind.length + 1),
        all: correlationOverAll([...sameDay.values()], random),
        within: correlationWithin([...sameDay.values()], random),
        lagged: correlationWithin([...dayBefore.values()], random),
      }))
      .sort((a, b) => Math.abs(b.within.rho ?? 0) - Math.abs(a.within.rho ?? 0)),
  )
}
