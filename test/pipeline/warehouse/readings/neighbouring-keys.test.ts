import { expect } from 'vitest'
import { catalogue } from '../../../../config/streams.ts'
import { type Column, keyColumns, type PulledStream } from '../../../../src/pipeline/transfer/stream.ts'
import { march, marchMs, scoreRecord, scoresReading, test } from '../../../support/test-warehouse.ts'

const fieldOf = (column: Column) => column.from[0] ?? ''

/** A record of a stream with a text in each column of its key, and records that differ from it in one of these columns. */
function neighboursOf(stream: PulledStream): object[] {
  const keys = keyColumns(stream)
  const instantOf = (column: Column) => march(column.name === stream.endColumn ? 3 : 2)
  const values = keys.map((column) => [fieldOf(column), column.type === 'instant' ? instantOf(column) : 'a'])
  const base = Object.fromEntries(values)
  const others = keys.map((column) => ({
    ...base,
    [fieldOf(column)]: column.type === 'instant' ? instantOf(column).replace('00:00:00', '01:00:00') : 'b',
  }))
  return [base, ...others]
}

test('each reading of one commit speaks for the window of its own person', async ({ warehouse }) => {
  const { writer, rows, startedAtMs } = warehouse
  const [ada = '', bob = ''] = await warehouse.addNeighbours(2)
  const read = (profileId: string, moment: number, [first = 0, last = 0]: number[]) => {
    const records = [first, last].map((day) => scoreRecord({ scoreDateTime: march(day, '12:00:00Z') }))
    const window = { startMs: marchMs(first), endMs: marchMs(last + 1) }
    return writer.store(scoresReading({ profileId, sentAtMs: startedAtMs + moment, records, window }))
  }
  await Promise.all([read(ada, 0, [1, 2]), read(bob, 0, [1, 2])])

  await Promise.all([read(ada, 1, [1, 2]), read(bob, 1, [3, 4])])

  expect(await rows('select profile_id from vitalsync.scores where gone_at is not null')).toEqual([])
})

const windowed = catalogue.pulled.filter(({ kind }) => kind === 'windowed')

test.for(windowed.map((stream) => [stream.name, stream] as const))(
  'a record of %s changes, and goes, without those of another profile or key',
  async ([, stream], { warehouse }) => {
    const { writer, rows, startedAtMs } = warehouse
    const people = await warehouse.addNeighbours(2)
    const [base = {}, ...others] = neighboursOf(stream)
    const read = async (moment: number, adas: object[]) => {
      const sentAtMs = startedAtMs + moment
      // The readings of both are one commit.
      const readings = people.map((profileId, person) => ({
        ...{ profileId, stream, sentAtMs },
        records: person === 0 ? adas : [base, ...others],
      }))
      const outcomes = await Promise.all(readings.map((reading) => writer.store(scoresReading(reading))))
      expect(outcomes.map(({ outcome }) => outcome)).toEqual(['stored', 'stored'])
    }
    const state = async () => {
      const [stored] = await rows(
        `select count(*)::int as records, count(*) filter (where revision > 1)::int as changed,
           count(gone_at)::int as gone from vitalsync.${stream.table}`,
      )
      const history = await rows('select profile_id, revision from vitalsync.history order by revision')
      return { ...stored, history: history.map(({ profile_id, revision }) => [profile_id, revision]) }
    }
    const [ada] = people
    const records = 2 * (1 + others.length)

    await read(0, [base, ...others])
    expect(await state()).toEqual({ records, changed: 0, gone: 0, history: [] })
    await read(1, [{ ...base, note: 'changed' }, ...others])
    expect(await state()).toEqual({ records, changed: 1, gone: 0, history: [[ada, 1]] })
    await read(2, others)
    const former = [
      [ada, 1],
      [ada, 2],
    ]
    expect(await state()).toEqual({ records, changed: 1, gone: 1, history: former })
    await read(3, [base, ...others])
    expect(await state()).toMatchObject({ records, changed: 1, gone: 0 })
  },
)
