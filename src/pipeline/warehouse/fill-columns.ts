import { sleep } from '../../base/sleep.ts'
import type { PulledStream } from '../transfer/stream.ts'
import { parsedSql, tableColumn, valueSql } from './added-columns.ts'
import { type Pool, type Tx, transaction } from './postgres/warehouse-pool.ts'
import { keyNames, keyTypes } from './readings/record-statements.ts'

const ROWS_AT_ONCE = 1000

/** Fills until every column is filled or the signal aborts. Rests after each portion as long as the portion took. */
export async function fillColumns(
  pool: Pool,
  streams: readonly PulledStream[],
  signal: AbortSignal,
  onPortion: () => Promise<void> = async () => undefined,
): Promise<void> {
  while (!signal.aborted) {
    const startedMs = performance.now()
    if (!(await fillPortion(pool, streams))) return
    await onPortion()
    await sleep(performance.now() - startedMs, signal).catch(() => undefined) // aborted: the loop ends
  }
}

type Portion = { id: string; stream: string; name: string; path: string; type: string; filledTo: string[] | null }

/**
 * Fills the next records of a column, in the order of their key, and notes where they end in the same commit: killed at any point, the
 * next call goes on there. Several processes take different columns. False: there is nothing to fill, or others are at it.
 */
export async function fillPortion(pool: Pool, streams: readonly PulledStream[]): Promise<boolean> {
  return transaction(pool, async (tx) => {
    const { rows } = await tx.query<Portion>(
      `select id, stream, name, path, type, filled_to as "filledTo" from vitalsync.added_columns
       where filled_at is null and stream = any($1) order by id limit 1 for update skip locked`,
      [streams.map(({ name }) => name)],
    )
    const [column] = rows
    const stream = streams.find(({ name }) => name === column?.stream)
    if (!column || !stream) return false
    const next = await readNextKeys(tx, stream, column.filledTo)
    const last = next.at(-1)
    if (last) await fillRows(tx, stream, { column, last, profileIds: [...new Set(next.map(([id = '']) => id))] })
    await tx.query(
      `update vitalsync.added_columns set filled_rows = filled_rows + $2, filled_to = coalesce($3, filled_to),
         filled_at = case when $2 < ${ROWS_AT_ONCE} then clock_timestamp() end
       where id = $1`,
      [column.id, next.length, last ?? null],
    )
    return true
  })
}

const keyColumns = (stream: PulledStream) => keyNames(stream).map((name) => `t.${name}`)
const keySql = (stream: PulledStream) => `(${keyColumns(stream).join(', ')})`

/** A key as it stands in an array of texts. */
const keyOfSql = (stream: PulledStream, parameter: string) =>
  `(${keyTypes(stream)
    .map((type, index) => `(${parameter}::text[])[${index + 1}]::${type}`)
    .join(', ')})`

async function readNextKeys(tx: Tx, stream: PulledStream, after: string[] | null): Promise<string[][]> {
  const key = keyColumns(stream)
  const { rows } = await tx.query<{ key: string[] }>(
    `select array[${key.map((column) => `${column}::text`).join(', ')}] as key from vitalsync.${stream.table} t
     ${after ? `where ${keySql(stream)} > ${keyOfSql(stream, '$1')}` : ''}
     order by ${key.join(', ')} limit ${ROWS_AT_ONCE}`,
    after ? [after] : [],
  )
  return rows.map((row) => row.key)
}

/** Readings of these people wait for the commit, as they wait for one another. A record that is right already is not written. */
async function fillRows(
  tx: Tx,
  stream: PulledStream,
  { column, last, profileIds }: { column: Portion; last: string[]; profileIds: string[] },
): Promise<void> {
  await tx.query(
    `select from vitalsync.ledger l where l.profile_id = any($1::int8[]) and l.stream = $2
     order by l.profile_id, l.stream for update of l`,
    [profileIds, stream.name],
  )
  const target = tableColumn(column.name)
  const value = valueSql(column, parsedSql('t'))
  const after = column.filledTo ? `and ${keySql(stream)} > ${keyOfSql(stream, '$3')}` : ''
  await tx.query(
    `update vitalsync.${stream.table} t set ${target} = ${value}
     where t.profile_id = any($1::int8[]) and ${keySql(stream)} <= ${keyOfSql(stream, '$2')} ${after}
       and t.${target} is distinct from ${value}`,
    [profileIds, last, ...(column.filledTo ? [column.filledTo] : [])],
  )
}
