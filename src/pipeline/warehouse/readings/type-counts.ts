import { foldedWord } from '../../transfer/misfits.ts'
import type { PulledStream } from '../../transfer/stream.ts'
import { binaryColumn } from '../postgres/binary-format.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'
import type { PreparedReading } from './record-rows.ts'

/** Further types of a stream are counted together. */
const TYPES_MAX = 200
const OTHERS = '*'

type TypeRecords = Map<string, { records: number }>

/** Counts the records of committed readings by their type, and not in the commits: each would wait there for the same few rows. */
export class TypeCounts {
  private counts = new Map<PulledStream, TypeRecords>()

  /** `field`: the field that names the type. */
  add({ stream, rows }: PreparedReading, field: string): void {
    const column = stream.columns.findIndex(({ from }) => from.includes(field))
    const types = this.typesOf(stream)
    for (const { cells } of rows) countIn(types, String(cells[column]), 1)
  }

  /**
   * Adds what was counted since the last time to the counts of today. In one order, so that two processes cannot wait for one another.
   * Counts that could not be written are written the next time.
   */
  async write(pool: Pool): Promise<void> {
    const taken = this.counts
    this.counts = new Map()
    try {
      await addCounts(pool, taken)
    } catch (error) {
      for (const [stream, counts] of taken)
        for (const [type, { records }] of counts) countIn(this.typesOf(stream), type, records)
      throw error
    }
  }

  private typesOf(stream: PulledStream): TypeRecords {
    const types: TypeRecords = this.counts.get(stream) ?? new Map()
    this.counts.set(stream, types)
    return types
  }
}

function countIn(types: TypeRecords, type: string, records: number): void {
  const name = types.has(type) || types.size < TYPES_MAX ? type : OTHERS
  const count = types.get(name) ?? { records: 0 }
  types.set(name, count)
  count.records += records
}

async function addCounts(pool: Pool, counts: ReadonlyMap<PulledStream, TypeRecords>): Promise<void> {
  const rows = [...counts].flatMap(([stream, types]) =>
    [...types].map(([type, { records }]) => ({ stream: stream.name, type: foldedWord(type), records })),
  )
  if (rows.length === 0) return
  await pool.query(
    `insert into vitalsync.drift_types as t (stream, type, read_on, records)
     select stream, type, (clock_timestamp() at time zone 'UTC')::date, sum(records)
     from unnest($1::text[], $2::text[], $3::int8[]) as u(stream, type, records) group by 1, 2 order by 1, 2
     on conflict (stream, type, read_on) do update set records = t.records + excluded.records`,
    [
      binaryColumn('text', rows, ({ stream }) => stream),
      binaryColumn('text', rows, ({ type }) => type),
      binaryColumn('int8', rows, ({ records }) => String(records)),
    ],
  )
}
