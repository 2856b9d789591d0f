import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { csvCell } from '../../../base/text/csv-cell.ts'
import { shellQuoted } from '../../../base/text/readable.ts'
import { address, changeQuery } from '../../../web/browser/address.ts'
import { ask, type Json, type Refusal, refusalOf, useAnswer } from '../../../web/browser/ask.ts'
import { DayChart } from '../../../web/browser/charts.tsx'
import { Answered, Command, Empty, Failed, Panel, Table, Text } from '../../../web/browser/parts.tsx'
import { shownCount, shownSpan } from '../../../web/browser/shown.ts'
import type { QuestionAnswer, SavedQuestionsAnswer } from '../../routes/question-routes.ts'
import { session } from '../dashboard-state.ts'

type Answer = Json<QuestionAnswer>
/** `how-complete-is-each-stream` */
const addressOf = (title: string): string => (title.toLowerCase().match(/[a-z]+/g) ?? []).join('-')

/** A question, its answer, and its error. */
function useQuestion() {
  const sql = useSignal('select * from warehouse.days order by local_date desc limit 20')
  const found = useSignal<Answer | undefined>(undefined)
  const error = useSignal<Refusal | undefined>(undefined)
  const isBusy = useSignal(false)
  const asking = useRef<AbortController>(undefined)
  const leave = () => asking.current?.abort()
  /** Ends the question before it, whose answer would stand under other words. */
  const run = async () => {
    leave()
    const abort = new AbortController()
    const { signal } = abort
    asking.current = abort
    isBusy.value = true
    error.value = undefined
    const answered = (answer: Answer | undefined, refusal?: Refusal) => {
      if (signal.aborted) return
      found.value = answer ?? found.value
      error.value = refusal
      isBusy.value = false
    }
    await ask<QuestionAnswer>('question', { sql: sql.value }, signal).then(answered, (thrown: unknown) =>
      answered(undefined, refusalOf(thrown)),
    )
  }
  useEffect(() => leave, [])
  return { sql, found, error, isBusy, run }
}

/** Questions in SQL, as the reader role: saved ones, and one's own. */
export function QuestionsScreen() {
  const { answer, again } = useAnswer<SavedQuestionsAnswer>('questions')
  const asked = address.value.query.get('saved')
  const { sql, found, error, isBusy, run } = useQuestion()
  const choose = ({ sql: chosen }: Json<SavedQuestionsAnswer>[number]) => {
    sql.value = chosen
    void run()
  }
  // A saved question is asked when it stands in the address. One's own stays out of the address: it may name a person.
  useEffect(() => {
    const shared = answer.state === 'here' && answer.value.find(({ title }) => addressOf(title) === asked)
    if (shared) choose(shared)
  }, [answer.state, asked, session.value.values, session.value.masked])
  return (
    <>
      <h1 class="head">Questions</h1>
      <div class="questions">
        <Panel title="Saved">
          <Answered answer={answer} again={again}>
            {(saved) => (
              <ul class="saved">
                {saved.map((question) => (
                  <li key={question.title}>
                    <button
                      type="button"
                      class="plain"
                      aria-pressed={addressOf(question.title) === asked}
                      onClick={() =>
                        addressOf(question.title) === asked
                          ? choose(question)
                          : changeQuery({ saved: addressOf(question.title) })
                      }
                    >
                      {question.title}
                    </button>
                  </li>
                ))}
              </ul>
            )}
          </Answered>
        </Panel>
        <Panel title="Question" note="read only · 1,000 rows · 20 seconds">
          <div class="stack">
            <textarea
              aria-label="SQL"
              rows={9}
              spellcheck={false}
              value={sql.value}
              onInput={(event) => {
                sql.value = event.currentTarget.value
                if (asked !== null) changeQuery({ saved: '' }, { replace: true })
              }}
              onKeyDown={(event) => event.key === 'Enter' && (event.ctrlKey || event.metaKey) && void run()}
            />
            <div class="row">
              <button type="button" class="primary" disabled={isBusy.value} onClick={() => void run()}>
                {isBusy.value ? 'Asking …' : 'Ask'}
              </button>
              <Command line={`vitalsync sql ${shellQuoted(sql.value.trim())}`} />
            </div>
            {error.value && <Failed error={error.value} />}
          </div>
        </Panel>
      </div>
      {found.value && session.value.values && !session.value.masked && <Found found={found.value} />}
    </>
  )
}

/** A page of more cells answers no click for half a minute; a query may have 1,664 columns. */
const CELLS_MAX = 20_000

function Found({ found }: { found: Answer }) {
  const { columns, rows, isCut, tookMs } = found
  const shown = rows.slice(0, Math.floor(CELLS_MAX / columns.length))
  const rest = shown.length < rows.length ? `; ${shown.length} here, all in the CSV` : ''
  return (
    <Panel
      title={`${shownCount(rows.length, 'row')}${isCut ? ', and more' : ''}${rest}`}
      aside={
        <span class="row">
          <span class="small quiet">in {shownSpan(tookMs)}</span>
          <button type="button" onClick={() => save(found)} disabled={rows.length === 0}>
            CSV
          </button>
        </span>
      }
      flush
    >
      {rows.length === 0 ? <Empty>No rows.</Empty> : <Chart found={found} />}
      {rows.length > 0 && (
        <Table head={columns} label="Answer">
          {shown.map((row, index) => (
            <tr key={`${index} ${String(row[0])}`}>
              {row.map((cell, column) => (
                <td key={`${column} ${columns[column]}`} class={typeof cell === 'number' ? 'number' : undefined}>
                  <Text max={200}>{cellText(cell)}</Text>
                </td>
              ))}
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  )
}

const CHART_ROWS_MAX = 400

/** Numbers by day are drawn as well. */
function Chart({ found: { columns, rows } }: { found: Answer }) {
  const dayAt = columns.findIndex((_, column) => rows.every((row) => /^\d{4}-\d{2}-\d{2}/.test(String(row[column]))))
  const numberAt = columns.findIndex((_, column) => rows.some((row) => typeof row[column] === 'number'))
  const ordered = rows.toSorted((a, b) => String(a[dayAt]).localeCompare(String(b[dayAt])))
  const days = ordered.map((row) => String(row[dayAt]))
  if (dayAt < 0 || numberAt < 0 || rows.length > CHART_ROWS_MAX || new Set(days).size < days.length) return null
  const values = ordered.map((row) => (typeof row[numberAt] === 'number' ? row[numberAt] : null))
  const name = columns[numberAt] ?? ''
  return (
    <div class="chart">
      <DayChart days={days} series={[{ name, values }]} label={`${name} by day`} />
    </div>
  )
}

const cellText = (cell: unknown): string => String(cell ?? '')

const savedCell = (cell: Answer['rows'][number][number]): string =>
  csvCell(typeof cell === 'object' && cell !== null ? JSON.stringify(cell) : cell, 'defuse')

function save({ columns, rows }: Answer): void {
  const text = [columns, ...rows].map((row) => `${row.map(savedCell).join(',')}\r\n`).join('')
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  link.download = 'answer.csv'
  link.click()
  URL.revokeObjectURL(link.href)
}
