import fc from 'fast-check'
import { expect } from 'vitest'
import { DAY } from '../../../../src/base/time/units.ts'
import {
  binaryColumn,
  binaryRows,
  type ColumnType,
  type ColumnValue,
} from '../../../../src/pipeline/warehouse/postgres/binary-format.ts'
import { copyRows } from '../../../../src/pipeline/warehouse/postgres/copy-rows.ts'
import { asTransaction, type Pool } from '../../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { columnArrays, type UnnestColumn } from '../../../../src/service/store/array-literal.ts'
import { everyCharacter } from '../../../support/every-character.ts'
import { test } from '../../../support/test-warehouse.ts'

/** Texts of up to 32 characters are written another way than longer ones; a character of several bytes ends the short way. */
const aroundShortest = [30, 31, 32, 33, 34].flatMap((length) =>
  ['x', 'é', '€', '😀', '"', '\\', "'"].flatMap((odd) =>
    [0, 1, length - 2, length - 1].map((at) => `${'y'.repeat(at)}${odd}${'z'.repeat(Math.max(0, length - at - 1))}`),
  ),
)
const texts = [
  ...everyCharacter(),
  ...aroundShortest,
  '',
  'null',
  'NULL',
  '{}',
  '{a,b}',
  '"',
  '\\N',
  '\\.',
  '\t',
  '\r\n',
]

async function copied(pool: Pool, type: ColumnType, sqlType: string, values: readonly ColumnValue[]) {
  const tx = asTransaction(await pool.connect(), pool)
  try {
    await tx.query('begin')
    await tx.query(`create temporary table copied (n int4, cell ${sqlType}) on commit drop`)
    const rows = binaryRows(
      [...values.entries()],
      [
        { type: 'int4', cell: ([n]) => n },
        { type, cell: ([, value]) => value },
      ],
    )
    await copyRows(tx, [{ statement: 'copy copied from stdin (format binary)', rows }])
    const { rows: found } = await tx.query(`select ${shownAs[type]} as cell from copied order by n`)
    const { rows: unnested } = await tx.query(
      `select ${shownAs[type]} as cell from unnest($1::${sqlType}[]) with ordinality as t(cell, n) order by n`,
      [binaryColumn(type, values, (value) => value)],
    )
    return [found, unnested].map((each) => each.map(({ cell }) => cell))
  } finally {
    await tx.query('rollback')
    tx.release()
  }
}

/** How a test reads a value back: whole, and as a text that JavaScript can write too. */
const shownAs: Record<ColumnType, string> = {
  text: 'cell',
  bytea: `encode(cell, 'hex')`,
  varbit: 'cell::text',
  digest: 'cell::text',
  int4: 'cell::text',
  int8: 'cell::text',
  bool: 'cell',
  date: `to_char(cell, 'YYYY-MM-DD')`,
  float8: `encode(float8send(cell), 'hex')`,
  timestamptz: `(extract(epoch from cell) * 1000000)::int8::text`,
}

test('every character goes into Postgres by COPY and by an array as it is', async ({ warehouse: { pool } }) => {
  const values = [...texts, null]

  for (const found of await copied(pool, 'text', 'text', values)) expect(found).toEqual(values)
})

test('every character goes into Postgres by an array literal of the service as it is', async ({
  warehouse: { pool },
}) => {
  const values = [...texts, null]
  const columns: ReadonlyArray<UnnestColumn<string | null>> = [['cell', 'text', (text) => text]]

  const { rows } = await pool.query(
    'select cell from unnest($1::text[]) with ordinality as t(cell, n) order by n',
    columnArrays(columns, values),
  )
  expect(rows.map(({ cell }) => cell)).toEqual(values)
})

const hexOfDouble = (value: number) => {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleBE(value)
  return bytes.toString('hex')
}
const bytes = fc.uint8Array({ maxLength: 70 }).map((each) => Buffer.from(each).toString('latin1'))
const eightBytes = fc.uint8Array({ minLength: 8, maxLength: 8 }).map((each) => Buffer.from(each).toString('latin1'))
const hexOf = (value: ColumnValue) => Buffer.from(String(value), 'latin1').toString('hex')
const bitsOf = (value: ColumnValue) =>
  [...Buffer.from(String(value), 'latin1')].map((byte) => byte.toString(2).padStart(8, '0')).join('')
const largest = Number.MAX_SAFE_INTEGER
const micros = fc.oneof(fc.maxSafeInteger(), fc.constantFrom(0, -1, 946_684_800_000_000, largest - 946_684_800_000_000))

/** For each type: values, its type in SQL, and the text in which Postgres gives a value back. */
const kinds: Array<
  [type: ColumnType, sqlType: string, values: fc.Arbitrary<ColumnValue>, shown: (value: ColumnValue) => unknown]
> = [
  ['int4', 'int4', fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), String],
  [
    'int8',
    'int8',
    fc.oneof(fc.maxSafeInteger(), fc.constantFrom(0, -1, 2 ** 32, 2 ** 32 - 1, -(2 ** 32), largest, -largest)),
    String,
  ],
  ['float8', 'float8', fc.double({ noNaN: true }), (value) => hexOfDouble(Number(value))],
  ['bool', 'bool', fc.boolean(), (value) => value],
  [
    'date',
    'date',
    fc.integer({ min: Date.UTC(1000, 0, 1), max: Date.UTC(9999, 11, 31) + DAY - 1 }),
    (value) => new Date(Number(value)).toISOString().slice(0, 10),
  ],
  ['timestamptz', 'timestamptz', micros.filter((each) => Math.abs(each) < largest - 946_684_800_000_000), String],
  ['digest', 'int8', eightBytes, (value) => String(BigInt.asIntN(64, BigInt(`0x${hexOf(value)}`)))],
  ['bytea', 'bytea', bytes, hexOf],
  ['varbit', 'varbit', bytes, bitsOf],
]

test.for(kinds)(
  'any value of %s goes into Postgres by COPY and by an array as it is',
  async ([type, sqlType, arbitrary, shown], { warehouse: { pool } }) => {
    const values = [...fc.sample(arbitrary, { seed: 20261124, numRuns: 1000 }), null]
    const expected = values.map((value) => (value === null ? null : shown(value)))

    for (const found of await copied(pool, type, sqlType, values)) expect(found).toEqual(expected)
  },
)
