import { expect } from 'vitest'
import { isReadOf } from '../support/peer.ts'
import { json, reasonOfTitle } from '../support/profile-stub.ts'
import { runProgram } from '../support/run-program.ts'
import { daysAgo, daysAgoMs, scoreOf } from '../support/sample-scores.ts'
import { type TestPipeline, test } from '../support/test-pipeline.ts'

const day = (days: number) => daysAgo(days).slice(0, 10)
const HISTORY = { HISTORY_DAYS: '30' }

/** The states of the given days of a person's stream. */
async function statesOf(line: TestPipeline, externalId: string, stream: string, days: readonly number[]) {
  const rows = await line.rows(
    'select local_date::text, state from warehouse.days where external_id = $1 and stream = $2 and local_date = any($3)',
    [externalId, stream, days.map(day)],
  )
  const stateOf = new Map(rows.map((row) => [row['local_date'], row['state']]))
  return days.map((daysAgo) => stateOf.get(day(daysAgo)))
}

const readAgain = (line: TestPipeline) =>
  line.tick('backfill', { from: daysAgoMs(25), to: daysAgoMs(5), streams: ['scores'], again: true })

test('each day of each stream is there, or it is known why it is not', async ({ open, peer }) => {
  const line = await open('postgres', HISTORY)
  await line.addProfiles('ada', 'bob', 'dan')
  const odd = { ...scoreOf(10, 0.1), type: undefined }
  peer.give('ada', 'scores', [scoreOf(12, 0.1), scoreOf(12, 0.2, { type: 'activity' }), odd])
  peer.give('dan', 'scores', [scoreOf(10, 0.1), scoreOf(9, 0.2)])
  peer.profiles.add('bob')
  const isRefused = isReadOf('scores', 'bob')
  const { before } = peer
  peer.before = (seen) => (isRefused(seen) ? json(400, { title: 'no such window' }) : before(seen))
  line.work()
  await line.tick('nightly')
  await line.idle()
  peer.give('dan', 'scores', [scoreOf(10, 0.1)])
  await readAgain(line)
  await line.idle()
  await line.addProfiles('eve')

  expect(await statesOf(line, 'ada', 'scores', [12, 11, 10, 1])).toEqual(['data', 'empty', 'quarantined', 'unsettled'])
  expect(await statesOf(line, 'dan', 'scores', [10, 9])).toEqual(['data', 'erased_upstream'])
  expect(await statesOf(line, 'bob', 'scores', [12])).toEqual(['refused'])
  expect(await statesOf(line, 'bob', 'biomarkers', [12])).toEqual(['empty'])
  expect(await statesOf(line, 'eve', 'scores', [12])).toEqual(['never_read'])
  const [there] = await line.rows(
    `select rows, settled, reason from warehouse.days where external_id = 'ada' and stream = 'scores' and local_date = $1`,
    [day(12)],
  )
  expect(there).toEqual({ rows: 2, settled: true, reason: '' })
  // One row for each wanted day up to today, of each pulled stream.
  const [counts] = await line.rows(
    `select count(distinct (stream, local_date))::int as distinct, count(*)::int as rows, count(distinct stream)::int as streams,
       max(local_date)::text as last from warehouse.days where external_id = 'ada'`,
  )
  expect(counts).toEqual({ distinct: 8 * 31, rows: 8 * 31, streams: 8, last: day(0) })
})

test('a day is the person’s own where a record shows it', async ({ open, peer }) => {
  const line = await open('postgres', HISTORY)
  await line.addProfiles('auckland')
  const midnight = `${day(12)}T00:00:00+13:00` // a day of UTC earlier
  peer.give('auckland', 'scores', [scoreOf(12, 0.1, { scoreDateTime: midnight, createdAt: midnight })])
  const nightBefore = { startDateTime: `${day(12)}T18:00:00+13:00`, endDateTime: `${day(11)}T18:00:00+13:00` }
  const week = { startDateTime: `${day(20)}T00:00:00+13:00`, endDateTime: `${day(13)}T00:00:00+13:00` }
  const biomarker = {
    type: 'sleep_duration',
    category: 'sleep',
    periodicity: 'daily',
    aggregation: 'total',
    value: '1',
  }
  peer.give('auckland', 'biomarkers', [{ id: 'b', ...biomarker, unit: 'minute', valueType: 'integer', ...nightBefore }])
  const archetype = { id: 'a', name: 'activity_level', value: 'active', dataType: 'string', ordinality: 3 }
  peer.give('auckland', 'archetypes', [{ ...archetype, periodicity: 'weekly', ...week }])
  line.work()
  await line.tick('nightly')
  await line.idle()

  expect(await statesOf(line, 'auckland', 'scores', [13, 12, 11])).toEqual(['empty', 'data', 'empty'])
  // A night that begins in the evening belongs to the day on which it ends, as in person_days.
  expect(await statesOf(line, 'auckland', 'biomarkers', [12, 11, 10])).toEqual(['empty', 'data', 'empty'])
  const days = [21, 20, 17, 14, 13]
  expect(await statesOf(line, 'auckland', 'archetypes', days)).toEqual(['empty', 'data', 'data', 'data', 'empty'])
})

test('why answers in one line, with the evidence and what to do', async ({ open, peer }) => {
  const line = await open('postgres', HISTORY)
  await line.addProfiles('ada')
  peer.give('ada', 'scores', [scoreOf(12, 0.1), { ...scoreOf(10, 0.1), type: undefined }])
  const isRefused = isReadOf('biomarkers', 'ada')
  const { before } = peer
  peer.before = (seen) => (isRefused(seen) ? json(400, { title: 'no such window' }) : before(seen))
  line.work()
  await line.tick('nightly')
  await line.idle()
  const program = { cwd: '/tmp', env: line.settings }
  const why = async (...words: string[]) => runProgram(['why', '--profile', 'ada', '--date', ...words], program)

  const there = await why(day(12), '--stream', 'scores')
  expect(there.stdout).toBe(`scores of ada on ${day(12)}: 1 record\n`)
  const odd = await why(day(10), '--stream', 'scores', '--stream', 'biomarkers')
  expect(odd.stdout).toMatch(/^scores of ada on .*: quarantined: 1 of its records did not fit: Invalid input/m)
  expect(odd.stdout).toMatch(/^ {2}quarantined as \d+: type Invalid input/m)
  expect(odd.stdout).toMatch(/^ {2}→ vitalsync quarantine show <id>/m)
  expect(odd.stdout).toMatch(
    /^biomarkers of ada on .*: refused: upstream refuses it, and is asked again at .* UTC: call/m,
  )
  const reason = reasonOfTitle('no such window')
  expect(odd.stdout).toMatch(new RegExp(`^ {2}refused since .* UTC, 1 attempt, status 400: .*${reason}`, 'm'))
  const all = await why(day(2), '--json')
  const streams = all.stdout.trim().split('\n')
  expect(streams.map((text) => JSON.parse(text).stream)).toHaveLength(8)
  expect(JSON.parse(streams[0] ?? '')).toMatchObject({ stream: 'scores', state: 'unsettled', settled: false, rows: 0 })

  const empty = await why(day(11), '--stream', 'scores')
  expect(empty.stdout).toMatch(/^scores of ada on .*: empty: it was read, and upstream has nothing for this day$/m)
  expect(empty.stdout).toMatch(/^ {2}not_through_us: no log of this person passed through us in the days around it$/m)
  expect(empty.stdout).toMatch(/^ {2}→ look at the sender of this person’s data/m)
  const gaps = (...words: string[]) => runProgram(['gaps', '--empty', '--stream', 'scores', ...words], program)
  expect((await gaps()).stdout).toMatch(new RegExp(`^ada +scores +${day(11)} +${day(11)} +not_through_us `, 'm'))
  const spans = (await gaps('--json')).stdout
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text))
  expect(spans).toContainEqual({
    ...{
      externalId: 'ada',
      stream: 'scores',
      startAt: daysAgo(11),
      endAt: daysAgo(10),
      reason: 'empty',
      nextTryAt: null,
    },
    ...{ detail: expect.any(String), cause: 'not_through_us', evidence: {} },
  })

  expect(await why('1999-01-01')).toMatchObject({ code: 2, stderr: expect.stringContaining('not wanted') })
})
