import { sqlState } from '../../../base/postgres/postgres-errors.ts'
import type { InvalidRecord } from '../../transfer/reading.ts'
import { isDataException } from '../postgres/sql-errors.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'
import type { PreparedReading, RecordRow } from './record-rows.ts'

/** A shorter record can neither be nested too deeply for Postgres nor hold too long a number. */
const PLAIN_LENGTH_MAX = 8000

/**
 * A number stands after one of these signs; inside a word, such as the id of a record, `1e2345` is none. It looks for the exponent,
 * which is rare, and then back: to look for the signs first takes three times as long.
 */
const LARGE_EXPONENT = /(?<=[:,[\s]-?\d+(?:\.\d+)?)[eE][+-]?\d{4}/

/**
 * Whether Postgres might refuse the record's text, which it reads as `jsonb` whenever an analyst queries it. Postgres accepts
 * no U+0000, no half of a surrogate pair, no number beyond a hundred thousand digits and no endless nesting. A record that
 * might be refused is tried out before it is stored.
 */
export const mayBeUnstorable = ({ raw }: Pick<RecordRow, 'raw'>): boolean =>
  raw.length > PLAIN_LENGTH_MAX ||
  (raw.includes('\\u') && /\\u(?:0000|[dD][89a-fA-F])/.test(raw)) ||
  LARGE_EXPONENT.test(raw)

/** Keeps the rows that Postgres accepts. The rows that it refuses become invalid records, each with the reason. */
export async function separateStorable(pool: Pool, reading: PreparedReading): Promise<PreparedReading> {
  if ((await postgresRefusalOf(pool, reading.rows)) === undefined) return reading
  const rows: RecordRow[] = []
  const refused: InvalidRecord[] = []
  for (const row of reading.rows) {
    const reason = await postgresRefusalOf(pool, [row])
    if (reason === undefined) rows.push(row)
    else refused.push({ path: '', reason, raw: row.raw })
  }
  return { ...reading, rows, invalid: [...reading.invalid, ...refused] }
}

/** Our own words by SQL state, for the message of Postgres may quote the record. */
const reasonsByState: Readonly<Record<string, string>> = {
  '22P05': 'it holds the character U+0000',
  '22021': 'it holds the character U+0000',
  '22P02': 'it holds half a character, or is no JSON',
  '22003': 'a number is too large',
  '54001': 'it is nested too deeply',
}

/** Why Postgres refuses the text of these records; undefined when it accepts them. */
async function postgresRefusalOf(pool: Pool, rows: readonly RecordRow[]): Promise<string | undefined> {
  const texts = rows.flatMap((row) => row.cells.filter((cell) => typeof cell === 'string'))
  const bodies = rows.map((row) => row.raw)
  return pool.query('select count(body::jsonb), $2::text[] from unnest($1::text[]) body', [bodies, texts]).then(
    () => undefined,
    (error: Error) => {
      if (!isDataException(error)) throw error
      return `Postgres refuses it (${sqlState(error)}): ${reasonsByState[sqlState(error)] ?? 'it cannot be stored'}`
    },
  )
}
