import { UsageProblem } from '../../../base/errors.ts'
import { formatCount } from '../../../base/text/readable.ts'
import { MINUTE } from '../../../base/time/units.ts'
import { readQuery } from '../../../pipeline/warehouse/reports/read-query.ts'
import type { CommandContext } from '../../terminal/command-context.ts'
import { formatCsv, formatTable } from '../../terminal/table.ts'
import { readWarehouse } from '../../with-pipeline.ts'

type SqlOptions = { readonly statement?: string; readonly limit: number; readonly csv: boolean }

const TEXT_CHARACTERS_MAX = 100_000

const ROWS_AT_ONCE = 1000
const BYTES_AT_ONCE_MAX = 64 * 1024 * 1024

/** Answers a query as the role for questions, and prints its rows. */
export async function runSql(context: CommandContext, { statement: given, limit, csv }: SqlOptions): Promise<void> {
  const { terminal } = context
  const statement = (given ?? (await readStandardInput())).trim().replace(/;\s*$/, '')
  if (statement === '') {
    throw new UsageProblem('run a query: there is none', {
      hint: `Give it as an argument: vitalsync sql "select * from warehouse.days limit 5". Or pipe it in.`,
    })
  }
  const shown: string[][] = []
  let head: readonly string[] = []
  let more = false
  await readWarehouse(context, async (pool, { databaseUrl, questionsKeys: keys }) => {
    const limits = { timeoutMs: 10 * MINUTE, rowsAtOnce: ROWS_AT_ONCE, bytesMax: BYTES_AT_ONCE_MAX }
    const question = { text: statement, parsesJson: true, signal: context.signal, ...limits }
    for await (const { columns, rows } of readQuery({ pool, databaseUrl, keys, sayFrozen: terminal.say }, question)) {
      if (csv) {
        const isFirst = head.length === 0
        const cells = rows.map((row) => row.map((cell) => (cell === null ? null : cellText(cell))))
        if (isFirst || rows.length > 0) terminal.print(formatCsv(cells, isFirst ? columns : undefined))
        head = columns
        continue
      }
      head = columns
      const keys = terminal.json ? keysOf(columns) : []
      for (const row of rows) {
        if (terminal.json) terminal.printJson('sql', Object.fromEntries(keys.map((name, at) => [name, row[at]])))
        else if (shown.length < limit) shown.push(row.map(cellText))
        else more = true
      }
      if (more) return
    }
  })
  if (csv || terminal.json) return
  const rest = more ? ', and more: --limit, or --json for all' : ''
  terminal.print(`${formatTable(head, shown)}\n\n${formatCount(shown.length, 'row')}${rest}`)
}

/** An object has each key once: the second column of a name is `name_2`, or the next number that no column has. */
function keysOf(columns: readonly string[]): readonly string[] {
  const keys = new Set<string>()
  for (const name of columns) {
    let key = name
    for (let number = 2; keys.has(key) || (key !== name && columns.includes(key)); number += 1)
      key = `${name}_${number}`
    keys.add(key)
  }
  return [...keys]
}

const cellText = (cell: unknown): string =>
  cell === null || cell === undefined ? '' : typeof cell === 'object' ? JSON.stringify(cell) : String(cell)

async function readStandardInput(): Promise<string> {
  if (process.stdin.isTTY) return ''
  let text = ''
  // A letter of several bytes may come in two pieces.
  for await (const piece of process.stdin.setEncoding('utf8')) {
    text += piece
    if (text.length > TEXT_CHARACTERS_MAX)
      throw new UsageProblem('run a query: it is too long', { hint: 'Shorten it.' })
  }
  return text
}
