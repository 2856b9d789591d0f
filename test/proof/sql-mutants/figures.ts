import type { ProofTable, Survivor } from '../part.ts'
import type { Reason } from './listed-mutants.ts'
import type { Judged } from './play.ts'
import { areaNames } from './statements.ts'

const isSurvivor = ({ verdict }: Judged) => verdict === 'survived' || verdict === 'not reached'

/** A run that is cut may end before the plays of those that are explained: they lived in one before it. */
const isLiving = (one: Judged, known: ReadonlyMap<string, Reason>) =>
  isSurvivor(one) || (one.verdict === 'not played' && known.has(one.mutant.key))

/** Mutants that live, and that `survivors.json` does not explain. */
export const unexplained = (judged: readonly Judged[], known: ReadonlyMap<string, Reason>): Judged[] =>
  judged.filter((one) => isSurvivor(one) && !known.has(one.mutant.key))

export const explained = (judged: readonly Judged[], known: ReadonlyMap<string, Reason>): Survivor[] =>
  judged.flatMap((one) => {
    if (!isLiving(one, known)) return []
    const { mutant } = one
    const reason = known.get(mutant.key)
    if (!reason) return []
    const change = `${mutant.operator}: ${mutant.change}`
    return [{ where: `${mutant.file} ${mutant.called}`, change, reason: reason.reason }]
  })

/** Time-outs count as not killed, and so do mutants that were not decided: a kill is decided sooner than a survival. */
export function tablesOf(judged: readonly Judged[], known: ReadonlyMap<string, Reason>): ProofTable[] {
  const row = (name: string, list: readonly Judged[]) => {
    const count = (verdict: Judged['verdict']) => list.filter((one) => one.verdict === verdict).length
    const living = list.filter((one) => isLiving(one, known))
    const equivalent = living.filter(({ mutant }) => known.get(mutant.key)?.equivalent).length
    const notPlayed = list.filter((one) => one.verdict === 'not played' && !isLiving(one, known)).length
    const counted = list.length - equivalent
    const share = counted > 0 ? `${((100 * count('killed')) / counted).toFixed(1)} %` : ''
    const bound = share !== '' && notPlayed > 0 ? `at least ${share}` : share
    return [
      ...[name, list.length, notPlayed, count('killed'), count('timed out')],
      ...[equivalent, living.length - equivalent, bound],
    ]
  }
  const columns = [
    'mutants',
    'not played',
    'killed',
    'timed out',
    'equivalent',
    'survived',
    'killed of those not equivalent',
  ]
  const all = row('all', judged)
  const areas = areaNames.map((area) =>
    row(
      area,
      judged.filter(({ mutant }) => mutant.area === area),
    ),
  )
  const operators = [...Map.groupBy(judged, ({ mutant }) => mutant.operator)]
    .toSorted(([, one], [, other]) => other.length - one.length)
    .map(([operator, list]) => row(operator, list))
  return [
    {
      title: 'Mutants of SQL, by the subject of the statement',
      columns: ['subject', ...columns],
      rows: [...areas, all],
    },
    { title: 'Mutants of SQL, by the change', columns: ['change', ...columns], rows: [...operators, all] },
  ]
}
