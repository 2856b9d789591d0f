import { Rejected } from '../errors.ts'
import { nameOf, type Prepared, type Stored, type StoreRequest, storeGroup } from './commit.ts'
import { beginByKey, isRefusal, type Pool, sqlState, transaction } from './pool.ts'
import { isDoubtful, type OddRecord, type Row, toRows } from './rows.ts'

export type Writer = {
  /** Resolves when the reading's rows and its ledger entry are committed, both in one transaction. */
  store(request: StoreRequest): Promise<Stored>
  /** Waits for what was handed in. */
  close(): Promise<void>
}

export type WriterOptions = {
  pool: Pool
  now(): number
  /** How many records one transaction gathers before it starts while another is under way. */
  rowsPerCommit: number
  commitsAtOnce: number
}

type Pending = Prepared & {
  readonly resolve: (stored: Stored) => void
  readonly reject: (error: unknown) => void
}

const ROWS_PER_COMMIT_MAX = 5000

/**
 * Group commit: the readings of many concurrent jobs go to Postgres in one transaction, and each job waits for its own.
 * A group that the database refuses is halved until the culprit is alone; its neighbours lose nothing.
 */
export function openWriter(options: WriterOptions): Writer {
  let waiting: Pending[] = []
  let waitingRows = 0
  let underWay = 0
  /** Profiles' streams whose readings are being committed: another one would only wait for their locks. */
  const taken = new Set<string>()
  let scheduled = false
  let closed: (() => void) | undefined

  const pump = () => {
    scheduled = false
    while (waiting.length > 0 && underWay < options.commitsAtOnce) {
      if (underWay > 0 && waitingRows < options.rowsPerCommit) return
      const group = takeGroup()
      if (group.length === 0) return
      underWay += 1
      commitGroup(options, group).finally(() => {
        underWay -= 1
        for (const pending of group) taken.delete(nameOf(pending))
        pump()
      })
    }
    if (waiting.length === 0 && underWay === 0) closed?.()
  }

  /** At most one reading per profile and stream: a statement cannot write the same record twice. */
  const takeGroup = (): Pending[] => {
    const group: Pending[] = []
    const rest: Pending[] = []
    let rows = 0
    for (const pending of waiting) {
      const name = nameOf(pending)
      const fits = rows === 0 || rows + pending.rows.length <= ROWS_PER_COMMIT_MAX
      if (fits && !taken.has(name)) {
        taken.add(name)
        group.push(pending)
        rows += pending.rows.length
      } else rest.push(pending)
    }
    waiting = rest
    waitingRows -= rows
    return group
  }

  const join = (prepared: Prepared) =>
    new Promise<Stored>((resolve, reject) => {
      waiting.push({ ...prepared, resolve, reject })
      waitingRows += prepared.rows.length
      // The jobs that are ready in this turn of the event loop share one transaction.
      if (!scheduled) setImmediate(pump)
      scheduled = true
    })

  return {
    async store({ records, odd: unread, ...request }) {
      const { rows, odd } = toRows(request.stream, records)
      const prepared = { request, rows, odd: [...unread, ...odd] }
      return join(rows.some(isDoubtful) ? await partStorable(options.pool, prepared) : prepared)
    },
    async close() {
      if (waiting.length === 0 && underWay === 0) return
      await new Promise<void>((resolve) => {
        closed = resolve
      })
    },
  }
}

function rejectAll(group: readonly Pending[], error: unknown): void {
  for (const pending of group) pending.reject(error)
}

async function commitGroup(options: WriterOptions, group: readonly Pending[]): Promise<void> {
  try {
    const results = await transaction(options.pool, (tx) => storeGroup(tx, group, options.now()), beginByKey)
    group.forEach((pending, index) => {
      const stored = results[index]
      if (stored) pending.resolve(stored)
    })
  } catch (error) {
    if (!isRefusal(error)) return rejectAll(group, error)
    const alone = group.length === 1 ? group[0] : undefined
    if (alone) return storeAlone(options, alone, error)
    const middle = Math.ceil(group.length / 2)
    await commitGroup(options, group.slice(0, middle))
    await commitGroup(options, group.slice(middle))
  }
}

/** Finds the records of one reading that Postgres refuses, sets them aside as odd, and stores the others. */
async function storeAlone(options: WriterOptions, pending: Pending, refusal: unknown): Promise<void> {
  const parted = await partStorable(options.pool, pending)
  if (parted.rows.length === pending.rows.length) return pending.reject(rejected(refusal))
  await commitGroup(options, [{ ...pending, ...parted }])
}

/** The records that Postgres takes, and among the odd ones, with the reason, those that it does not. */
async function partStorable(pool: Pool, { request, rows, odd }: Prepared): Promise<Prepared> {
  if ((await refusalOf(pool, rows)) === undefined) return { request, rows, odd }
  const good: Row[] = []
  const refused: OddRecord[] = []
  for (const row of rows) {
    const reason = await refusalOf(pool, [row])
    if (reason === undefined) good.push(row)
    else refused.push({ path: '', reason, raw: row.raw })
  }
  return { request, rows: good, odd: [...odd, ...refused] }
}

/** No record of it is at fault by its text: the window is refused as a whole, and blocks nothing else. */
function rejected(refusal: unknown): Rejected {
  return new Rejected(`store reading: Postgres refuses it (${sqlState(refusal)})`, {
    status: 0,
    hint: 'A constraint or trigger that was added to the warehouse may be in the way.',
    cause: refusal,
  })
}

/** Postgres's own words may quote the record. */
const kindsOf: Record<string, string> = {
  '22P05': 'it holds the character U+0000',
  '22021': 'it holds the character U+0000',
  '22P02': 'it holds half a character, or is no JSON',
  '22003': 'a number is too large',
  '54001': 'it is nested too deeply',
}

/** What Postgres says to the text of these records, or undefined when it takes them. */
async function refusalOf(pool: Pool, rows: readonly Row[]): Promise<string | undefined> {
  const texts = rows.flatMap((row) => row.cells.filter((cell) => typeof cell === 'string'))
  const bodies = rows.map((row) => row.raw)
  return pool.query('select count(body::jsonb), $2::text[] from unnest($1::text[]) body', [bodies, texts]).then(
    () => undefined,
    (error: Error) => {
      if (!isRefusal(error)) throw error
      return `Postgres refuses it (${sqlState(error)}): ${kindsOf[sqlState(error)] ?? 'it cannot be stored'}`
    },
  )
}
