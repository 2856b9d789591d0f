import { foldedWord } from '../../transfer/misfits.ts'
import type { PulledStream } from '../../transfer/stream.ts'
import { binaryColumn } from '../postgres/binary-format.ts'
import type { Pool } from '../postgres/warehouse-pool.ts'
import type { PreparedReading } from './record-rows.ts'

/** Further types of a stream are counted together. */
const TYPES_MAX = 200
const OTHERS = '*'

/** Counts the records of committed readings by their type, and not in the commits: each would wait there for the same few rows. */
export class TypeCounts {
  private counts = new Map<PulledStream, Map<string, { records: number }>>()

  /** `field`: the field that names the type. */
  add({ stream, rows }: PreparedReading, field: string): void {
    const column = stream.columns.findIndex(({ from }) => from.includes(field))
    const ofStream = this.counts.get(stream) ?? new Map<string, { records: number }>()
    this.counts.set(stream, ofStream)
    for (const { cells } of rows) {
      const type = String(cells[column])
      const count = ofStream.get(type) ?? countOf(ofStream, type)
      count.records += 1
    }
  }

  /** Adds what was counted since the last time to the counts of today. In one order, so that two processes cannot wait for one another. */
  async write(pool: Pool): Promise<void> {
    const taken = [...this.counts].flatMap(([stream, types]) =>
      [...types].map(([type, { records }]) => ({ stream: stream.name, type: foldedWord(type), records })),
    )
    this.counts = new Map()
    if (taken.length === 0) return
    await pool.query(
      `insert into vitalsync.drift_types as t (stream, type, read_on, records)
       select stream, type, (clock_timestamp() at time zone 'UTC')::date, sum(records)
       from unnest($1::text[], $2::text[], $3::int8[]) as u(stream, type, records) group by 1, 2 order by 1, 2
       on conflict (stream, type, read_on) do update set records = t.records + excluded.records`,
      [
        binaryColumn('text', taken, ({ stream }) => stream),
        binaryColumn('text', taken, ({ type }) => type),
        binaryColumn('int8', taken, ({ records }) => String(records)),
      ],
    )
  }
}

function countOf(types: Map<string, { records: number }>, type: string): { records: number } {
  const name = types.size < TYPES_MAX ? type : OTHERS
  const count = types.get(name) ?? { records: 0 }
  types.set(name, count)
  return count
}
