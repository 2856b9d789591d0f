import { expect } from 'vitest'
import { readDayFaults, readDayReports } from '../../../../src/pipeline/warehouse/reports/day-report.ts'
import { type StreamName, streamByName } from '../../../support/stream-by-name.ts'
import { march, marchMs, scoresReading, test } from '../../../support/test-warehouse.ts'

const lasting = (startDateTime: string, endDateTime: string) => ({ name: 'x', type: 'x', startDateTime, endDateTime })
const week = lasting('2026-03-02T00:00:00+09:00', '2026-03-09T00:00:00+09:00')
const trend = { name: 'x', trendStartDateTime: march(4), trendEndDateTime: march(10) }

const cases: ReadonlyArray<readonly [StreamName, number, ...object[]]> = [
  ['archetypes', 7, week],
  ['archetypes', 1, lasting(march(4), march(4, '00:10:00Z'))],
  ['archetypes', 1, lasting(march(4), march(2))],
  ['trends', 6, trend],
  ['tags', 3, lasting(march(4, '08:00:00Z'), march(7, '07:00:00Z'))],
  ['tags', 1, { name: 'x', type: 'x', startDateTime: march(4) }],
  ['biomarkers', 1, week],
  ['comparisons', 1, week],
  ['scores', 1, { type: 'x', scoreDateTime: march(4, '00:00:00-08:00') }],
]

test.for(cases)(
  'a record of %s in quarantine stands for the %i days for which it would count, in all answers',
  async ([name, count, fields], { warehouse }) => {
    const stream = streamByName(name)
    const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
    const raw = JSON.stringify(fields)
    const window = { startMs: marchMs(1), endMs: marchMs(20) }
    const given = { stream, window, sentAtMs: warehouse.startedAtMs }
    const reading = scoresReading({ ...given, profileId: ada, records: [{ ...fields }] })
    await warehouse.writer.store(reading)
    const invalid = [{ path: 'value', reason: 'odd', raw }]
    await warehouse.writer.store({ ...scoresReading({ ...given, profileId: bob, records: [] }), invalid })
    const daysOf = async (person: string, state: string) =>
      (
        await warehouse.rows(
          `select local_date::text as day from warehouse.days where external_id = $1 and stream = $2 and state = $3 and settled order by 1`,
          [person, name, state],
        )
      ).map(({ day }) => String(day))

    const days = await daysOf('bob', 'quarantined')
    expect(days).toHaveLength(count)
    expect(days).toEqual(await daysOf('ada', 'data'))
    const range = { profileIds: [bob], fromDay: '2026-02-01', lastDay: '2026-04-30' }
    expect((await readDayFaults(warehouse.pool, range)).map(({ day }) => day).toSorted()).toEqual(days)
    for (const localDate of days) {
      const [report] = await readDayReports(warehouse.pool, { profileId: bob, localDate, streams: [name] })
      expect(report?.quarantined).toMatchObject([{ reason: 'odd' }])
    }
  },
)
