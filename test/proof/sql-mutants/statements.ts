import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import { parseSync } from 'pgsql-parser'
import type { RecordedStatement } from './exchange-statements.ts'
import { isFields, nodesOf, print } from './tree.ts'

/** The subject of a statement, by the folder that the file lies in, wherever that folder lies. */
const areas: ReadonlyArray<{ area: string; of: RegExp }> = [
  { area: 'coverage', of: /\/warehouse\/ledger\// },
  { area: 'readings', of: /\/warehouse\/readings\// },
  { area: 'outbox', of: /\/warehouse\/outbox\// },
  { area: 'runs', of: /\/warehouse\/runs\// },
  { area: 'tokens', of: /\/warehouse\/tokens\// },
  { area: 'erasure', of: /\/warehouse\/profiles\// },
  { area: 'what is due', of: /\/service\/store\/(derivation-|waiting-|stored-|progress)/ },
  { area: "the service's stores", of: /\/service\/store\// },
]
export const areaNames = areas.map(({ area }) => area)

/** A test that sends a statement, by its file and its name; no name stands for a hook of the file. */
export type Sender = { readonly file: string; readonly test: string }

/** A statement of the product. Its template may make several texts: of each stream. */
export type Statement = {
  readonly area: string
  /** The name of the product's file without its folder, and of the statement: its prepared name, or its verb and table. */
  readonly file: string
  readonly called: string
  /** The longest first. */
  readonly texts: ReadonlyArray<{ readonly text: string; readonly tree: unknown; readonly senders: readonly Sender[] }>
}

const streamWords =
  /\b(scores?|biomarkers?|archetypes?|trends?|comparisons?|data-logs|tags|demographics|device[-_]information|habits|steps|moods)\b/g

/** The columns of records: each stream has its own. */
const recordColumns =
  /\b([ti]\.)(((score|trend_start|trend_end|start|end)_date_time|type|name|category|periodicity|aggregation|source|felt_at|word)(, [ti]\.)?)+(?!\w)/g

/** Without the words by which texts of one template differ: streams, columns, and the numbers of parameters. */
export const withoutVariants = (text: string): string =>
  text
    .replaceAll(/\s+and hashint8\([\w.]+\) between -?\d+ and -?\d+/g, '')
    .replaceAll(/[ _]\d{3,}\b/g, '')
    .replaceAll(/\bform ([<>]?=) \d+/g, 'form $1 JOB_FORM')
    .replaceAll(streamWords, 'STREAM')
    .replaceAll(/\$\d+/g, '$n')
    .replaceAll(/(?<=AND )(\S+ = ANY \(CAST\(\$n AS int8\[\]\)\)|CAST\(\$n AS int8\[\]\) IS NOT NULL)/g, 'NAMED')
    .replaceAll(/concat_ws\(.*?\), 8\)/gs, 'concat_ws(COLUMNS), 8)')
    .replaceAll(recordColumns, '$1COLUMNS')

/** The statements of the areas. A text counts if it stays the same statement when it is parsed and printed again. */
export function statementsOf(recorded: readonly RecordedStatement[]): { statements: Statement[]; unprinted: string[] } {
  const unprinted: string[] = []
  const inAreas = recorded.filter(({ origin }) => areaOf(origin) !== undefined)
  const texts = [...Map.groupBy(inAreas, ({ text, origin }) => `${withoutLine(origin)}\n${text}`).values()].flatMap(
    (same) => {
      const [one] = same
      const tree = one && treeOf(one.text)
      if (!one || !tree) return []
      if (isPrintedWhole(tree)) return [{ ...templateOf(one, tree), text: one.text, tree, senders: sendersOf(same) }]
      unprinted.push(`${one.origin}: ${one.text.slice(0, 80)}`)
      return []
    },
  )
  const templates = Map.groupBy(texts, ({ file, called }) => `${file} ${called}`)
  const statements = [...templates.values()].flatMap((group) => {
    const [{ area, file, called }] = group as [(typeof group)[number]]
    return [{ area, file, called, texts: group.toSorted(byLength) }]
  })
  return { statements: statements.toSorted(byPlace), unprinted }
}

type Text = Statement['texts'][number]
const byLength = (one: Text, other: Text) => other.text.length - one.text.length || one.text.localeCompare(other.text)
const byPlace = (one: Statement, other: Statement) =>
  one.file.localeCompare(other.file) || one.called.localeCompare(other.called)

const areaOf = (origin: string) => areas.find(({ of }) => of.test(origin))?.area

/** Nothing for a statement that is no query: COPY, SET, BEGIN. */
function treeOf(text: string): unknown {
  try {
    const { stmts } = parseSync(text)
    const statement = stmts?.length === 1 ? stmts[0]?.stmt : undefined
    const [kind = ''] = Object.keys(statement ?? {})
    return /^(Select|Insert|Update|Delete|Merge)Stmt$/.test(kind) ? statement : undefined
  } catch {
    return undefined
  }
}

const isPrintedWhole = (tree: unknown) => {
  const again = treeOf(print(tree))
  return again !== undefined && withoutPlaces(again) === withoutPlaces(tree)
}

const withoutPlaces = (tree: unknown) =>
  JSON.stringify(tree, (key, value) => (/location|list_(start|end)$/.test(key) ? undefined : value))

function templateOf({ origin, name, text }: RecordedStatement, tree: unknown) {
  const file = basename(withoutLine(origin))
  const called = name === undefined ? unnamed(tree, text) : withoutVariants(name)
  return { area: areaOf(origin) ?? '', file, called }
}

const withoutLine = (origin: string) => origin.replace(/:\d+:\d+$/, '')

/** Such as `update runs 3fa2`: its verb, the first table that it names, and a digest that distinguishes it from others of its file. */
function unnamed(tree: unknown, text: string): string {
  const nodes = nodesOf(tree)
  const own = nodes[0]?.kind.replace('Stmt', '').toLowerCase() ?? ''
  const target = nodes[0]?.fields['relation']
  const relation = isFields(target) ? target : nodes.find(({ kind }) => kind === 'RangeVar')?.fields
  const digest = digestOf(withoutVariants(text).replaceAll(/\s+/g, ' ').trim()).slice(0, 4)
  return `${withoutVariants(String(`${own} ${relation?.['relname'] ?? ''}`))} ${digest}`
}

const sendersOf = (same: readonly RecordedStatement[]): Sender[] => same.map(({ file, test }) => ({ file, test }))

export const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 10)
