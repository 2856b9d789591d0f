import { type Edit, editsOf } from './operators.ts'
import { digestOf, type Sender, type Statement, withoutVariants } from './statements.ts'
import { nodesOf, print } from './tree.ts'

/** A statement with one change, in each text that its template makes. */
export type Mutant = {
  /** The same while the statement and the change are, wherever the statement moves within its file. */
  readonly key: string
  readonly id: string
  readonly area: string
  readonly file: string
  readonly called: string
  readonly operator: string
  readonly change: string
  readonly exchanges: ReadonlyArray<{ readonly from: string; readonly to: string }>
  readonly senders: readonly Sender[]
}

export function mutantsOf(statements: readonly Statement[]): Mutant[] {
  const times = new Map<string, number>()
  return statements.flatMap(mutantsOfStatement).map(({ key: place, ...mutant }) => {
    const time = (times.get(place) ?? 0) + 1
    times.set(place, time)
    const key = time === 1 ? place : `${place} (${time})`
    return { ...mutant, key, id: digestOf(key) }
  })
}

/** The same change at the same place of the tree is one mutant in all texts. */
function mutantsOfStatement({ texts, ...statement }: Statement): Array<Omit<Mutant, 'id'>> {
  const edited = texts.flatMap(({ text, tree, senders }) => {
    const printed = print(tree)
    return nodesOf(tree)
      .flatMap((node) => editsOf(node).map((edit, index) => ({ edit, place: `${node.path} ${index}` })))
      .map(({ edit, place }) => ({ edit, place, from: text, to: printEdited(tree, edit), senders }))
      .filter(({ to }) => to !== printed)
  })
  return [...Map.groupBy(edited, ({ edit, place }) => `${edit.operator} ${place}`).values()].flatMap((same) => {
    const [one] = same
    if (!one) return []
    const { operator, change } = one.edit
    return {
      ...statement,
      key: `${statement.file} ${statement.called}: ${operator}: ${withoutVariants(change)}`,
      operator,
      change,
      exchanges: same.map(({ from, to }) => ({ from, to })),
      senders: same.flatMap(({ senders }) => senders),
    }
  })
}

function printEdited(tree: unknown, { of, set }: Edit): string {
  const before = Object.fromEntries(Object.keys(set).map((key) => [key, of[key]]))
  Object.assign(of, set)
  const text = print(tree)
  Object.assign(of, before)
  return text
}
