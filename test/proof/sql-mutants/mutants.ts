import { type Edit, editsOf } from './operators.ts'
import { digestOf, type Sender, type Statement, withoutVariants } from './statements.ts'
import { nodesOf, print } from './tree.ts'

/** A statement with one change, in each text that its template makes. */
export type Mutant = {
  /** File name, statement, change: the same in whatever folder the file lies, and whichever other texts were recorded. */
  readonly key: string
  readonly id: string
  readonly area: string
  readonly file: string
  readonly called: string
  readonly operator: string
  readonly change: string
  readonly exchanges: readonly Exchange[]
  readonly senders: readonly Sender[]
}

/** A text of the statement, the text that is sent instead, and the files of tests that send it. */
type Exchange = { readonly from: string; readonly to: string; readonly files: readonly string[] }

/** The same change is one mutant in all texts of a template. */
export const mutantsOf = (statements: readonly Statement[]): Mutant[] =>
  statements.flatMap(({ texts, ...statement }) => {
    const edited = texts.flatMap(editedTexts)
    return [...Map.groupBy(edited, ({ change }) => change)].flatMap(([change, same]) => {
      const key = `${statement.file} ${statement.called}: ${change}`
      const exchanges = same.map(({ from, to, senders: sent }) => ({ from, to, files: filesOf(sent) }))
      const senders = same.flatMap((one) => one.senders)
      const { edit } = same[0] ?? {}
      return edit
        ? { ...statement, key, id: digestOf(key), operator: edit.operator, change: edit.change, exchanges, senders }
        : []
    })
  })

const filesOf = (senders: readonly Sender[]) => [...new Set(senders.map(({ file }) => file))]

/** Each change of a text; a change that occurs several times in the text has its number. */
function editedTexts({ text, tree, senders }: Statement['texts'][number]) {
  const printed = print(tree)
  const times = new Map<string, number>()
  return nodesOf(tree)
    .flatMap(editsOf)
    .map((edit) => ({ edit, from: text, to: printEdited(tree, edit), senders }))
    .filter(({ to }) => to !== printed)
    .map((edited) => {
      const name = `${edited.edit.operator}: ${withoutVariants(edited.edit.change)}`
      const time = (times.get(name) ?? 0) + 1
      times.set(name, time)
      return { ...edited, change: time === 1 ? name : `${name} (${time})` }
    })
}

function printEdited(tree: unknown, { of, set }: Edit): string {
  const before = Object.fromEntries(Object.keys(set).map((key) => [key, of[key]]))
  Object.assign(of, set)
  const text = print(tree)
  Object.assign(of, before)
  return text
}
