import { sleep } from '../../base/sleep.ts'
import { formatMinute, formatNumber, formatPercent } from '../../base/text/readable.ts'
import { MINUTE } from '../../base/time/units.ts'
import type { SilenceState } from '../../pipeline/ledger/silence.ts'
import type { Pool } from '../../pipeline/warehouse/postgres/warehouse-pool.ts'
import { judgeSilence } from '../../pipeline/warehouse/silence/judge-silence.ts'
import {
  listSilenceEvents,
  listSilenceGroups,
  listSilent,
  type SilenceEvent,
  type SilentPerson,
} from '../../pipeline/warehouse/silence/list-silence.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { printList } from '../terminal/print-result.ts'
import { formatCsv, formatTable, type TableCell } from '../terminal/table.ts'
import { withWarehouse } from '../with-pipeline.ts'

type SilentOptions = {
  readonly since?: number | undefined
  readonly unusual?: number | undefined
  readonly state?: SilenceState | undefined
  readonly limit?: number | undefined
  readonly csv: boolean
}

/** Prints the silent people, the most unusual first. Logs that were handed in until now count. */
export async function printSilent(
  context: CommandContext,
  { csv, since, unusual, state, limit: given }: SilentOptions,
): Promise<void> {
  const { terminal } = context
  const isWhole = csv || terminal.json
  const limit = given ?? (isWhole ? ROWS_MAX : ROWS_SHOWN)
  const people = await judged(context, (pool) =>
    listSilent(pool, { sinceHours: since, unusual, state, limit: limit + 1 }),
  )
  const shown = people.slice(0, limit)
  if (terminal.json) for (const { profileId: _, ...person } of shown) terminal.printJson('profiles silent', person)
  else if (csv) terminal.print(csvOf(shown))
  else if (shown.length === 0) terminal.print('Nobody has gone silent.')
  else {
    const rest =
      people.length > limit ? `\n\n${formatNumber(limit)} shown, and there are more: --limit, --csv or --json` : ''
    terminal.print(`${formatTable(head, shown.map(cellsOf))}${rest}`)
  }
}

const ROWS_SHOWN = 100
const ROWS_MAX = 1_000_000

const judged = <T>(context: CommandContext, work: (pool: Pool) => Promise<T>): Promise<T> =>
  withWarehouse(context, async (pool) => {
    await judgeSilence(pool, context.signal)
    return work(pool)
  })

const head = ['profile', 'what', 'state', 'silent for', 'usually', 'at most', 'unusual', 'last', 'came last']

const cellsOf = (person: SilentPerson): TableCell[] => [
  person.externalId,
  person.kind,
  person.state,
  spanOf(person.silentHours),
  spanOf(person.usualHours),
  spanOf(person.longHours),
  person.unusual === null ? '' : formatPercent(person.unusual),
  formatMinute(person.lastAt),
  [person.device, ...person.lastKinds].filter((text) => text !== null).join(' '),
]

const spanOf = (hours: number | null): string =>
  hours === null ? '' : hours < 48 ? `${hours} h` : `${(hours / 24).toFixed(1)} d`

const columns = [
  ['external_id', (person) => person.externalId],
  ['kind', (person) => person.kind],
  ['state', (person) => person.state],
  ['last_at', (person) => person.lastAt.toISOString()],
  ['last_day', (person) => person.lastDay],
  ['last_kinds', (person) => person.lastKinds.join(' ')],
  ['device', (person) => person.device],
  ['silent_hours', (person) => person.silentHours],
  ['usual_hours', (person) => person.usualHours],
  ['long_hours', (person) => person.longHours],
  ['unusual', (person) => person.unusual],
] as const satisfies ReadonlyArray<readonly [string, (person: SilentPerson) => string | number | null]>

const csvOf = (people: readonly SilentPerson[]): string =>
  formatCsv(
    people.map((person) => columns.map(([, cell]) => cell(person))),
    columns.map(([name]) => name),
  )

/** Prints in which groups people have gone silent together. */
export async function printSilenceGroups(context: CommandContext): Promise<void> {
  printList(context.terminal, ['profiles silent', await judged(context, listSilenceGroups)], {
    none: 'Nobody has gone silent.',
    head: ['by', 'group', 'silent', 'of', 'share', 'since'],
    cells: ({ by, name, silent, people, since }) => [
      ...[by, name, silent, people, formatPercent(silent / people), formatMinute(since)],
    ],
  })
}

const WATCH_EVERY_MS = MINUTE
/** A change may be stored a while after it was noticed. */
const STORED_WITHIN_MS = 10 * MINUTE

/** Prints each change of a silence as it is noticed, until it is interrupted. */
export async function watchSilence(context: CommandContext): Promise<void> {
  const { terminal, signal } = context
  await withWarehouse(context, async (pool) => {
    const readRecent = async () => {
      const events = await listSilenceEvents(pool, STORED_WITHIN_MS)
      return new Map(events.map((event) => [`${event.externalId} ${event.kind} ${event.at.toISOString()}`, event]))
    }
    for (let known = await readRecent(); !signal.aborted; ) {
      await judgeSilence(pool, signal)
      const recent = await readRecent()
      for (const [key, event] of recent) {
        if (known.has(key)) continue
        if (terminal.json) terminal.printJson('profiles silent', event)
        else terminal.print(eventText(event))
      }
      known = recent
      await sleep(WATCH_EVERY_MS, signal).catch(() => undefined) // aborted: the loop ends
    }
  })
}

const eventText = ({ at, externalId, kind, from, to }: SilenceEvent): string =>
  `${formatMinute(at)}  ${externalId}  ${kind}  ${from ?? 'heard of'} → ${to ?? 'heard of'}`
