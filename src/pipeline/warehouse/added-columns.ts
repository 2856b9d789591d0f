import { escapeIdentifier, escapeLiteral } from 'pg'
import { Problem, UsageProblem } from '../../base/errors.ts'
import { sqlState } from '../../base/postgres/postgres-errors.ts'
import { sleep } from '../../base/sleep.ts'
import { SECOND } from '../../base/time/units.ts'
import type { AddedType, NewColumn, PulledStream } from '../transfer/stream.ts'
import { readShardCount } from './divided/distributed-tables.ts'
import { type Pool, type Tx, transaction } from './postgres/warehouse-pool.ts'
import { replaceView } from './replace-view.ts'

/*
 * Columns that users or `config/streams.ts` add to the table of a stream, made of the stored text of its records. One expression gives the value, in the
 * trigger and in the fill. The trigger is made with the column, under a lock that no transaction which has written to the table outlasts:
 * each record is either there for the fill, or written with the trigger. See docs/decisions/added-columns.md.
 */

const sqlTypeOf = (type: AddedType): string => (type === 'double' ? 'double precision' : type)

/** A column that was added, and how far its fill is. */
export type AddedColumn = {
  readonly stream: string
  readonly name: string
  readonly path: string
  readonly type: string
  readonly addedAt: Date
  /** Stored records that the fill has looked at. */
  readonly filledRows: number
  /** Records of the table, by the last estimate of Postgres; 0 before the first. */
  readonly tableRows: number
  readonly filledAt: Date | null
}

/** The most columns that a stream has at a time. */
const COLUMNS_MAX = 20
/** Postgres gives a table 1,600 columns, and counts those that were dropped. The rest is left to the migrations of later versions. */
const TABLE_COLUMNS_MAX = 1000

const FROM_RAW = "Take the value out of raw in the query: raw ->> 'confidence'."

/** The columns of the view beside those that users add. */
const viewColumns = (stream: PulledStream): string[] => [
  ...stream.columns.filter(({ key }) => key).map(({ name }) => name),
  ...(stream.kind === 'snapshot' ? [] : ['local_date']),
  ...stream.columns.filter(({ key }) => !key).map(({ name }) => name),
  ...['first_seen_at', 'changed_at', 'gone_at', 'revision'],
]

/** The steps of a path such as `$.factors[0].value`. Throws where it has any other form. */
function stepsOf(path: string): string[] {
  const isPath = /^\$(\.[A-Za-z_][A-Za-z0-9_]{0,62}|\[\d{1,4}\]){1,16}$/.test(path)
  if (!isPath)
    throw new UsageProblem(`add column: ${JSON.stringify(path)} is not a path`, {
      hint: "Names of fields and numbers of elements are allowed: '$.confidence', '$.factors[0].value'.",
    })
  return [...path.matchAll(/\.(\w+)|\[(\d+)\]/g)].map(([, name, index]) => name ?? index ?? '')
}

async function requireName(tx: Tx, stream: PulledStream, name: string): Promise<void> {
  if (!/^[a-z][a-z0-9_]{0,50}$/.test(name))
    throw new UsageProblem(`add column: ${JSON.stringify(name)} cannot be its name`, {
      hint: 'At most 51 small letters, digits and underscores, a letter first.',
    })
  const { rowCount } = await tx.query(`select from pg_get_keywords() where word = $1 and catcode in ('R', 'T')`, [name])
  if (['external_id', 'raw', ...viewColumns(stream)].includes(name) || rowCount !== 0)
    throw new UsageProblem(`add column: the name ${name} is taken, by the view or by SQL itself`, {
      hint: 'Choose another name.',
    })
}

async function requireRoom(tx: Tx, stream: PulledStream): Promise<void> {
  const { rowCount } = await tx.query('select from pg_attribute where attrelid = $1::regclass and attnum >= $2', [
    `vitalsync.${stream.table}`,
    TABLE_COLUMNS_MAX,
  ])
  if (rowCount !== 0)
    throw new UsageProblem(
      `add column: the table of ${stream.name} has had ${TABLE_COLUMNS_MAX} columns, which is the most`,
      {
        hint: `Dropped columns count until the database is restored from a dump. ${FROM_RAW}`,
      },
    )
}

async function requireUndivided(pool: Pool): Promise<void> {
  if ((await readShardCount(pool)) !== undefined)
    throw new UsageProblem('add column: the warehouse is divided, and Citus runs no triggers on divided tables', {
      hint: FROM_RAW,
    })
}

/** The column in the table of the stream. */
export const tableColumn = (name: string) => escapeIdentifier(`added_${name}`)

/** The record as jsonb, of the text of its row. Never fails. */
export const parsedSql = (row: string): string => `vitalsync.parsed(${row}.body)`

/** The part of a record at the path. `raw`: the record as jsonb. */
const partSql = (path: string, raw: string): string => `${raw} #> array[${stepsOf(path).map(escapeLiteral).join(', ')}]`

/** The value of a column. */
export const valueSql = ({ path, type }: Pick<AddedColumn, 'path' | 'type'>, raw: string): string =>
  `vitalsync.fitting(${partSql(path, raw)}, ${escapeLiteral(type)})::${type}`

/**
 * Adds a column. From its commit on every record that is written has its value; the records before it are left to `fillPortion`. False: the
 * same column is there.
 */
export async function addColumn(pool: Pool, stream: PulledStream, { name, path, type }: NewColumn): Promise<boolean> {
  await requireUndivided(pool)
  stepsOf(path)
  return changeColumns(pool, async (tx) => {
    const columns = await columnsOf(tx, stream)
    const former = columns.find((column) => column.name === name)
    if (former?.path === path && former.type === sqlTypeOf(type)) return false
    await requireName(tx, stream, name)
    if (former || columns.length >= COLUMNS_MAX)
      throw new UsageProblem(
        former
          ? `add column: ${stream.name} has a column ${name} of ${former.path} as ${former.type}, not of ${path} as ${sqlTypeOf(type)}`
          : `add column: ${stream.name} has ${COLUMNS_MAX} added columns, which is the most`,
        { hint: `First drop one: vitalsync columns drop ${stream.name} ${former?.name ?? columns[0]?.name}` },
      )
    await requireRoom(tx, stream)
    await tx.query('insert into vitalsync.added_columns (stream, name, path, type) values ($1, $2, $3, $4)', [
      stream.name,
      name,
      path,
      sqlTypeOf(type),
    ])
    await tx.query(`alter table vitalsync.${stream.table} add column ${tableColumn(name)} ${sqlTypeOf(type)}`)
    await publishColumns(tx, stream)
    return true
  })
}

/** Adds the columns that the streams declare and the warehouse lacks, and returns them. Another column of such a name is an error. */
export async function addDeclaredColumns(pool: Pool, streams: readonly PulledStream[]): Promise<string[]> {
  const added: string[] = []
  for (const stream of streams)
    for (const column of stream.added ?? [])
      if (await addColumn(pool, stream, column)) added.push(`column ${stream.name}.${column.name}`)
  return added
}

/** Drops a column and its values. False: there is none of this name. */
export async function dropColumn(pool: Pool, stream: PulledStream, name: string): Promise<boolean> {
  return changeColumns(pool, async (tx) => {
    const { rowCount } = await tx.query('delete from vitalsync.added_columns where stream = $1 and name = $2', [
      stream.name,
      name,
    ])
    if (rowCount === 0) return false
    await publishColumns(tx, stream)
    await tx.query(`alter table vitalsync.${stream.table} drop column ${tableColumn(name)}`)
    return true
  })
}

const LOCK_TRIES = 20

/**
 * One change at a time. Whatever comes after a change that waits for the table waits behind it, so the change gives up after two seconds,
 * lets the others pass, and is tried again. The lock also keeps portions of a fill out: a portion that reads the list before the change and
 * writes to it afterwards would wait for the change, and the change for the portion's records.
 */
async function changeColumns<T>(pool: Pool, work: (tx: Tx) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await transaction(pool, async (tx) => {
        await tx.query(`set local lock_timeout = '2s'`)
        await tx.query('lock table vitalsync.added_columns in exclusive mode')
        return work(tx)
      })
    } catch (cause) {
      const state = sqlState(cause)
      if (state === DEPENDENTS)
        throw new UsageProblem('change columns: other views are made of the view of these columns', {
          hint: 'Drop these views, change the columns, and create the views again.',
          cause,
        })
      if (state !== LOCK_NOT_AVAILABLE) throw cause
      if (tries === LOCK_TRIES)
        throw new Problem('change columns: the table is in use all the time', {
          hint: 'Wait for long queries and exports to end, and give the command again.',
          cause,
        })
      await sleep(SECOND)
    }
  }
}

const LOCK_NOT_AVAILABLE = '55P03'
const DEPENDENTS = '2BP01'

/** Makes trigger and view as the list of columns says. */
async function publishColumns(tx: Tx, stream: PulledStream): Promise<void> {
  const columns = await columnsOf(tx, stream)
  const { table } = stream
  const view = `warehouse.${table}_added`
  await tx.query(`drop trigger if exists fill_added on vitalsync.${table}`)
  if (columns.length === 0) {
    await tx.query(`drop function if exists vitalsync.fill_${table}()`)
    await tx.query(`drop view if exists ${view}`)
    return
  }
  await tx.query(`create or replace function vitalsync.fill_${table}() returns trigger language plpgsql as $fill$
    declare raw constant jsonb := ${parsedSql('new')};
    begin
      ${columns.map((column) => `new.${tableColumn(column.name)} := ${valueSql(column, 'raw')};`).join('\n')}
      return new;
    end $fill$`)
  await tx.query(`create trigger fill_added before insert or update of body on vitalsync.${table}
    for each row execute function vitalsync.fill_${table}()`)
  // The column of a later version that has the name of an added one is left out: what reads the view keeps its meaning.
  const catalogued = viewColumns(stream).filter((name) => !columns.some((column) => column.name === name))
  const cells = [
    ...catalogued.map((name) => `r.${name}`),
    ...columns.map(({ name }) => `r.${tableColumn(name)} as ${escapeIdentifier(name)}`),
  ]
  await replaceView(
    tx,
    view,
    `select p.external_id, ${cells.join(', ')}
     from vitalsync.${table} r join vitalsync.profiles p on p.id = r.profile_id`,
  )
  await tx.query(
    `comment on view ${view} is 'The records of ${stream.name} with the columns that were added by vitalsync columns.'`,
  )
  for (const { name, path, type } of columns)
    await tx.query(
      `comment on column ${view}.${escapeIdentifier(name)} is ${escapeLiteral(`Of raw ${path}, as ${type}; null where it does not fit.`)}`,
    )
}

const columnsOf = async (tx: Tx, stream: PulledStream) =>
  (await listAddedColumns(tx)).filter((column) => column.stream === stream.name)

export async function listAddedColumns(db: Pool | Tx): Promise<AddedColumn[]> {
  const { rows } = await db.query<AddedColumn>(
    `select a.stream, a.name, a.path, a.type, a.added_at as "addedAt", a.filled_rows::float8 as "filledRows",
       case when estimate > 0 then greatest(a.filled_rows, estimate) else 0 end::float8 as "tableRows", a.filled_at as "filledAt"
     from vitalsync.added_columns a, lateral (
       select max(reltuples) as estimate from pg_class c join vitalsync.day_streams s on s.stream = a.stream
       where c.oid = to_regclass('vitalsync.' || s.table_name)) e
     order by a.id`,
  )
  return rows
}

/** How many records have something at the path that does not fit the type. Reads the whole table. */
export async function countMisfits(pool: Pool, stream: PulledStream, column: AddedColumn): Promise<number> {
  const value = partSql(column.path, parsedSql('t'))
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::float8 as count from vitalsync.${stream.table} t
     where t.${tableColumn(column.name)} is null and jsonb_typeof(${value}) <> 'null' and $1::timestamptz is not null`,
    [column.filledAt],
  )
  return rows[0]?.count ?? 0
}
