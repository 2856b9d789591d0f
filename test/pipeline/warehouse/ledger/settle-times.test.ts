import { describe, expect } from 'vitest'
import { DAY } from '../../../../src/base/time/units.ts'
import { latenessBin } from '../../../../src/pipeline/ledger/lateness.ts'
import { settleTimeOf } from '../../../../src/pipeline/ledger/settle-time.ts'
import { refreshSettleTimes } from '../../../../src/pipeline/warehouse/ledger/settle-times.ts'
import { unsettleRecentDays } from '../../../../src/pipeline/warehouse/ledger/unsettle-recent-days.ts'
import { scores, streamByName } from '../../../support/stream-by-name.ts'
import { settle, test, type Warehouse } from '../../../support/test-warehouse.ts'

const biomarkers = streamByName('biomarkers')

type Counted = { account?: string; stream?: string; daysAgo: number; bin: number; seen: number; changes?: number }

async function count({ rows }: Warehouse, counts: readonly Counted[]): Promise<void> {
  const whole = counts.map((count) => ({ account: 'test', stream: 'scores', changes: 0, ...count }))
  await rows(
    `insert into vitalsync.lateness (account, stream, observed_on, bin, seen, came, changed)
     select account, stream, current_date - "daysAgo", bin, seen, 0, changes
     from jsonb_to_recordset($1) as i(account text, stream text, "daysAgo" int, bin int, seen int, changes int)`,
    [JSON.stringify(whole)],
  )
}

async function measured({ pool, rows }: Warehouse) {
  await rows(`update vitalsync.settle_times set computed_at = '-infinity'`)
  await refreshSettleTimes({ pool, account: 'test', settle, streams: [scores] })
  const [row] = await rows(
    `select settle_ms as "settleMs", basis, days, watched::float8, changed_later::float8 as "changedLater"
     from vitalsync.settle_times where account = 'test' and stream = 'scores'`,
  )
  return row
}

const bins = Array.from({ length: latenessBin(20 * DAY) }, (_, bin) => bin)

test('a settle time comes from the counts of its own account and stream within sixty days, and is computed again', async ({
  warehouse,
}) => {
  const expected = (daysCounted: number, changes: readonly number[]) => {
    const counts = bins.map((bin) => ({ bin, seen: 1000 * daysCounted, changes: changes[bin] ?? 0 }))
    const { settleMs, ...time } = settleTimeOf({
      ...{ counts, days: daysCounted, fallbackMs: scores.settleMs, settings: settle },
    })
    return { ...time, settleMs, days: daysCounted }
  }
  // The counts of twenty days, the last one sixty days ago, whose bins come in no order.
  const days = [...Array.from({ length: 19 }, (_, day) => day + 1), 60]
  await count(
    warehouse,
    days.flatMap((daysAgo) =>
      bins.toReversed().map((bin) => ({ daysAgo, bin, seen: 1000, changes: bin < 45 ? 2 : 0 })),
    ),
  )
  const first = expected(
    20,
    bins.map((bin) => (bin < 45 ? 40 : 0)),
  )
  expect(await measured(warehouse)).toEqual(first)
  expect(first.basis).not.toBe('fallback')

  const late = { daysAgo: 3, seen: 9_000_000, changes: 900_000 }
  await count(warehouse, [
    // On days of theirs, and on days of its own.
    { ...late, account: 'other', bin: 52 },
    { ...late, account: 'other', daysAgo: 25, bin: 52 },
    { ...late, stream: 'biomarkers', bin: 52 },
    { ...late, stream: 'biomarkers', daysAgo: 26, bin: 52 },
    { ...late, daysAgo: 61, bin: 52 },
  ])
  expect(await measured(warehouse)).toEqual(first)

  await count(warehouse, [{ daysAgo: 21, bin: 55, seen: 0, changes: 5000 }])
  const second = await measured(warehouse)
  expect(second).toMatchObject({ days: 21 })
  expect(Number(second?.['settleMs'])).toBeGreaterThan(first.settleMs)
})

type Difference = { profileId: string | undefined; account?: string; stream?: string; hoursAgo?: number }

async function differ({ rows }: Warehouse, differences: readonly Difference[]): Promise<void> {
  for (const { profileId, account = 'test', stream = 'scores', hoursAgo = 1 } of differences)
    await rows(
      `insert into vitalsync.silent_differences (account, stream, profile_id, found_at, records, late_ms)
       values ($1, $2, $3, now() - $4 * interval '1 hour', 1, 1)`,
      [account, stream, profileId, hoursAgo],
    )
}

const settleRow = ({ rows }: Warehouse, account: string, stream: string, unsettledAt: string | null = null) =>
  rows(
    `insert into vitalsync.settle_times (account, stream, settle_ms, basis, fallback_ms, days, watched, changed_later, unsettled_at)
     values ($1, $2, 1, 'fallback', 1, 1, 1, 1, $3::timestamptz)`,
    [account, stream, unsettledAt],
  )

/** The profiles whose scores are due again: `all` says whether each of these profiles is covered on the day before yesterday. */
async function coveredStreams({ rows }: Warehouse) {
  const found = await rows(
    `select n.external_id as name, l.stream, l.covered @> now() - interval '2 days' as covered, jsonb_array_length(l.rereads) as rereads
     from vitalsync.ledger l join vitalsync.names n on n.id = l.profile_id where l.stream in ('scores', 'biomarkers') order by 1, 2`,
  )
  return found.map(
    ({ name, stream, covered, rereads }) => `${name} ${stream}: ${covered ? 'covered' : 'due'}, ${rereads}`,
  )
}

/** Everything is covered, but for the scores of `dee`. */
async function coverAll({ rows }: Warehouse, dee: string | undefined): Promise<void> {
  await rows(`update vitalsync.ledger set covered = '{(,)}'`)
  await rows(`update vitalsync.ledger set covered = '{}' where stream = 'scores' and profile_id = $1`, [dee])
}

describe('the recent days of a stream', () => {
  test('are due again in all profiles where three differ within a day, and in no other stream', async ({
    warehouse,
  }) => {
    const { pool, rows } = warehouse
    const [ada, bob, cyd, dee] = await warehouse.addProfiles('ada', 'bob', 'cyd', 'dee')
    await coverAll(warehouse, dee)
    await settleRow(warehouse, 'test', 'scores')
    await settleRow(warehouse, 'test', 'biomarkers', new Date().toISOString())
    await settleRow(warehouse, 'other', 'scores', new Date().toISOString())
    const covered = await coveredStreams(warehouse)
    expect(covered).toContain('dee scores: due, 0')
    const unsettle = () => unsettleRecentDays({ pool, account: 'test' }, scores)

    await differ(warehouse, [{ profileId: ada }, { profileId: ada }, { profileId: bob }])
    await differ(warehouse, [
      { profileId: cyd, account: 'other' },
      { profileId: cyd, stream: 'biomarkers' },
      { profileId: cyd, hoursAgo: 25 },
    ])
    await unsettle()
    expect(await coveredStreams(warehouse)).toEqual(covered)

    await differ(warehouse, [{ profileId: cyd, hoursAgo: 23 }])
    await unsettle()
    expect(await coveredStreams(warehouse)).toEqual(
      covered.map((line) => (line.startsWith('dee') ? line : line.replace('scores: covered, 0', 'scores: due, 1'))),
    )
    const noted = await rows(
      `select account, stream from vitalsync.settle_times where unsettled_at > now() - interval '1 second' order by 1, 2`,
    )
    expect(noted).toContainEqual({ account: 'test', stream: 'scores' })
  })

  test('of another account or stream are not noted as due again', async ({ warehouse }) => {
    const { pool, rows } = warehouse
    const people = await warehouse.addProfiles('ada', 'bob', 'cyd')
    for (const [account, stream] of [
      ['test', 'scores'],
      ['test', 'biomarkers'],
      ['other', 'scores'],
    ] as const)
      await settleRow(warehouse, account, stream)
    await differ(
      warehouse,
      people.map((profileId) => ({ profileId })),
    )

    await unsettleRecentDays({ pool, account: 'test' }, scores)

    expect(await rows('select account, stream from vitalsync.settle_times where unsettled_at is not null')).toEqual([
      { account: 'test', stream: 'scores' },
    ])
  })

  test('are due again though thousands of profiles are gone, and page after page', async ({ warehouse }) => {
    const { pool, rows } = warehouse
    const people = await warehouse.addProfiles('ada', 'bob', 'cyd')
    await coverAll(warehouse, undefined)
    await settleRow(warehouse, 'test', 'scores')
    await rows(`insert into vitalsync.names (id, external_id) overriding system value
      select 1000000 + n, 'gone ' || n from generate_series(1, 6000) n`)
    await rows(`insert into vitalsync.profiles (id, external_id, wanted_from, state)
      select id, external_id, now(), 'gone' from vitalsync.names where id > 1000000`)
    await rows(`insert into vitalsync.ledger (profile_id, stream, covered)
      select 1000000 + n, 'scores', '{(,)}' from generate_series(6000, 1, -1) n`)
    await differ(
      warehouse,
      people.map((profileId) => ({ profileId })),
    )

    await unsettleRecentDays({ pool, account: 'test' }, scores)

    expect(
      await rows(
        `select count(*)::int as profiles, count(*) filter (where covered @> now() - interval '2 days')::int as covered
         from vitalsync.ledger where stream = 'scores'`,
      ),
    ).toEqual([{ profiles: 6003, covered: 0 }])
  })
})

test('the streams whose settle time is fresh, or that were not counted, are left as they are', async ({
  warehouse,
}) => {
  const { pool, rows } = warehouse
  await count(warehouse, [
    { daysAgo: 1, bin: 1, seen: 1 },
    { daysAgo: 1, bin: 1, seen: 1, account: 'other', stream: 'biomarkers' },
  ])
  await count(warehouse, [{ daysAgo: 1, bin: 2, seen: 1 }])
  await settleRow(warehouse, 'other', 'scores')
  const refresh = () => refreshSettleTimes({ pool, account: 'test', settle, streams: [scores, biomarkers] })
  const streams = () => rows(`select stream, settle_ms from vitalsync.settle_times where account = 'test' order by 1`)

  await refresh()
  expect((await streams()).map(({ stream }) => stream)).toEqual(['scores'])
  await rows(`update vitalsync.settle_times set settle_ms = 7, computed_at = now() - interval '9 minutes'`)
  await refresh()
  expect(await streams()).toEqual([{ stream: 'scores', settle_ms: 7 }])
  await rows(`update vitalsync.settle_times set computed_at = now() - interval '11 minutes'`)
  await refresh()
  expect(await streams()).toEqual([{ stream: 'scores', settle_ms: scores.settleMs }])
})
