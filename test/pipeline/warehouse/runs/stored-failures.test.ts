import { expect } from 'vitest'
import {
  createFailures,
  type FailureFilter,
  failurePageKey,
  type RecordedFailure,
} from '../../../../src/pipeline/warehouse/runs/stored-failures.ts'
import { test, type Warehouse } from '../../../support/test-warehouse.ts'

/** From the oldest to the newest. The history that people want begins in December 2025. */
async function insertFailures({ rows }: Warehouse, [ada = '', bob = '']: readonly string[]): Promise<void> {
  await rows('delete from vitalsync.failures')
  await rows('delete from vitalsync.refusals')
  await rows(`update vitalsync.profiles set due_at = '2126-03-01'`)
  await rows(`insert into vitalsync.failures (profile_id, job, reason, scope, first_at, last_at) values
    (${ada}, 'sync-profile', 'out of reach', '', '2026-03-01', '2026-03-01'),
    (${bob}, 'register-profile', 'out of reach', '[["streams",["scores"]]]', '2026-03-01', '2026-03-02'),
    (${ada}, 'backfill-profile', 'lost before', '', '2026-03-01', '2026-03-03'),
    (${bob}, 'backfill-profile', '100 % lost', '[["from",1]]', '2026-03-01', '2026-03-04')`)
  await rows(`insert into vitalsync.refusals (profile_id, stream, span, status, reason, first_at, last_at, next_try_at)
    select p, s, r::tstzrange, c, 'no such data', '2026-03-01', l, '2126-03-01' from (values
    (${ada}, 'scores', '[2019-03-01,2019-03-05)', 404, '2026-03-05'::timestamptz),
    (${ada}, 'scores', '[2025-11-27,2025-12-01)', 404, '2026-03-06'),
    (${ada}, 'trends', '[2019-03-01,2019-03-05)', 404, '2026-03-07'),
    (${bob}, 'scores', '[2026-03-01,2026-03-05)', 404, '2026-03-08'),
    (${ada}, 'scores', '[2026-03-01,2026-03-05)', 422, '2026-03-09'),
    (${bob}, 'trends', '[2026-03-01,2026-03-05)', 404, '2026-03-10')) i(p, s, r, c, l)`)
}

const all = [
  ...['bob trends 2026', 'ada scores 2026', 'bob scores 2026', 'ada trends 2019', 'ada scores 2025', 'ada scores 2019'],
  ...['bob backfill-profile', 'ada backfill-profile', 'bob register-profile', 'ada sync-profile'],
]
/** Failures that a sweep repeats, and those that a back-fill of its own repeats. */
const swept = ['bob trends 2026', 'ada scores 2026', 'bob scores 2026', 'bob register-profile', 'ada sync-profile']
const backfilled = ['ada trends 2019', 'ada scores 2025', 'ada scores 2019', 'bob backfill-profile']

const causeOf = async ({ rows }: Warehouse, text: string): Promise<FailureFilter> => {
  const [row] = await rows('select md5($1) as cause', [text])
  return { cause: String(row?.['cause']) }
}

async function withFailures(warehouse: Warehouse) {
  const people = await warehouse.addNeighbours(2)
  await insertFailures(warehouse, people)
  const failures = createFailures({ pool: warehouse.pool })
  const labelOf = ({ id, kind, subject, startAt }: RecordedFailure) => {
    const person = id.split(':')[1] === people[0] ? 'ada' : 'bob'
    return `${person} ${subject} ${(kind === 'window' && startAt?.getUTCFullYear()) || ''}`.trim()
  }
  const found = await failures.list({}, 100)
  const idsOf = (...labels: string[]) =>
    found.filter((failure) => labels.includes(labelOf(failure))).map(({ id }) => id)
  const ofBob = found.find(({ id }) => id.split(':')[1] === people[1])
  const filters: Array<[FailureFilter, readonly string[]]> = [
    [{}, all],
    [{ ids: idsOf('ada scores 2019', 'bob register-profile') }, ['ada scores 2019', 'bob register-profile']],
    [{ ids: idsOf('ada scores 2026', 'ada backfill-profile') }, ['ada scores 2026', 'ada backfill-profile']],
    [{ ids: idsOf('bob backfill-profile', 'ada sync-profile') }, ['bob backfill-profile', 'ada sync-profile']],
    [{ reason: 'LOST' }, ['bob backfill-profile', 'ada backfill-profile']],
    [{ reason: '0 %' }, ['bob backfill-profile']],
    [{ reason: '%lost' }, []],
    [{ profile: ofBob?.externalId ?? '' }, all.filter((label) => label.startsWith('bob'))],
    [
      await causeOf(warehouse, 'window scores 404 no such data'),
      ['bob scores 2026', 'ada scores 2025', 'ada scores 2019'],
    ],
    [await causeOf(warehouse, 'job sync-profile 0 out of reach'), ['ada sync-profile']],
    [await causeOf(warehouse, 'job backfill-profile 0 100 % lost'), ['bob backfill-profile']],
    [{ reason: 'REACH' }, ['bob register-profile', 'ada sync-profile']],
  ]
  const list = async () => failures.list({}, 100)
  return { people, failures, labelOf, filters, list }
}

test('a filter lists its failures from the newest on, and a limit ends the list', async ({ warehouse }) => {
  const { failures, labelOf, filters } = await withFailures(warehouse)

  for (const [filter, chosen] of filters) expect((await failures.list(filter, 100)).map(labelOf)).toEqual(chosen)
  expect((await failures.list({}, 3)).map(labelOf)).toEqual(all.slice(0, 3))
})

test('a failed back-fill says what it asked for, as far as it was recorded', async ({ warehouse }) => {
  const { failures, labelOf } = await withFailures(warehouse)

  const asked = (await failures.list({ reason: 'lost' }, 9)).map((failure) => [
    ...[labelOf(failure), failure.startAt, failure.endAt, failure.backfill],
  ])
  expect(asked).toEqual([
    ['bob backfill-profile', new Date(1), null, { streams: null, again: false }],
    ['ada backfill-profile', null, null, null],
  ])
})

test('the list comes in pages by key, also where many failed in one moment', async ({ warehouse }) => {
  const { failures, labelOf } = await withFailures(warehouse)
  await warehouse.rows(`update vitalsync.refusals set last_at = '2026-03-06 00:00:00.000001'`)
  const seen: string[] = []
  for (let before: string | undefined; ; ) {
    const page = await failures.listPage({ before }, 3)
    seen.push(...page.failures.map(labelOf))
    expect(page.failures.length).toBeLessThanOrEqual(3)
    if (page.nextBefore === null) break
    expect(page.nextBefore).toMatch(failurePageKey)
    before = page.nextBefore
  }

  expect(seen.toSorted()).toEqual(all.toSorted())
  expect(seen).toEqual((await failures.list({}, 100)).map(labelOf))
})

test('a failure names the cause that chooses it with its like', async ({ warehouse }) => {
  const { failures, labelOf } = await withFailures(warehouse)
  await warehouse.rows(`update vitalsync.refusals set status = null where stream = 'trends'`)

  const [first] = await failures.list({ reason: 'no such data' }, 1)
  expect(first?.hint).toContain('again automatically; vitalsync failures retry does not wait')
  for (const failure of await failures.list({}, 100)) {
    const chosen = await failures.list({ cause: failure.cause }, 100)
    expect(chosen.map(labelOf)).toContain(labelOf(failure))
    for (const { kind, subject, status, reason } of chosen)
      expect({ kind, subject, status, reason }).toEqual({
        kind: failure.kind,
        subject: failure.subject,
        status: failure.status,
        reason: failure.reason,
      })
  }
})

test('a retry makes due the chosen windows, and the people whom a sweep can help', async ({ warehouse }) => {
  const { people, failures, labelOf, filters, list } = await withFailures(warehouse)
  const inAMinute = Date.now() + 60_000

  for (const [filter, chosen] of filters) {
    await insertFailures(warehouse, people)

    expect(await failures.retry(filter)).toBe(swept.filter((label) => chosen.includes(label)).length)

    const due = (await list()).filter(
      ({ kind, nextTryAt }) => kind === 'window' && nextTryAt !== null && Number(nextTryAt) < inAMinute,
    )
    expect(due.map(labelOf)).toEqual(chosen.filter((label) => !label.includes('-profile')))
    const helped = people.filter((_, index) =>
      chosen.some((label) => swept.includes(label) && label.startsWith(['ada', 'bob'][index] ?? '')),
    )
    const ids = await warehouse.rows('select id from vitalsync.profiles where due_at <= now() order by id')
    expect(ids.map(({ id }) => id)).toEqual(helped)
  }
})

test('a discard deletes the chosen jobs, and keeps the chosen windows without a next try', async ({ warehouse }) => {
  const { people, failures, labelOf, filters, list } = await withFailures(warehouse)

  for (const [filter, chosen] of filters) {
    await insertFailures(warehouse, people)

    expect(await failures.discard(filter)).toBe(chosen.length)

    const left = await list()
    expect(left.map(labelOf)).toEqual(all.filter((label) => !chosen.includes(label) || !label.includes('-profile')))
    const ended = left.filter(({ kind, nextTryAt }) => kind === 'window' && nextTryAt === null)
    expect(ended.map(labelOf)).toEqual(chosen.filter((label) => !label.includes('-profile')))
  }
})

test('failures that no sweep repeats are retried as back-fills: failed back-fills, and windows before the wanted history', async ({
  warehouse,
}) => {
  const { people, failures, filters } = await withFailures(warehouse)
  const [ada, bob] = people
  const range = { from: Date.parse('2019-03-01'), streams: ['scores', 'trends'], to: Date.parse('2025-12-01') }

  expect(await failures.listBackfills({})).toEqual([
    { params: range, profileIds: [ada], failures: 3 },
    { params: { from: 1 }, profileIds: [bob], failures: 1 },
  ])
  for (const [filter, chosen] of filters) {
    const count = (await failures.listBackfills(filter)).reduce((sum, backfill) => sum + backfill.failures, 0)
    expect(count).toBe(backfilled.filter((label) => chosen.includes(label)).length)
  }
})

test('a retry of more failures than a page holds takes each of them once', async ({ warehouse }) => {
  const { people, failures } = await withFailures(warehouse)
  await warehouse.rows(
    `insert into vitalsync.refusals (profile_id, stream, span, reason, first_at, last_at, next_try_at)
     select $1, 'biomarkers', tstzrange('2026-03-01'::timestamptz + n * interval '1 hour', '2026-03-01'::timestamptz + (n + 1) * interval '1 hour'),
       'no', '2026-03-01', '2026-03-01', '2126-03-01' from generate_series(0, 2100) n order by md5(n::text)`,
    [people[0]],
  )

  expect(await failures.retry({ reason: 'no' })).toBe(2101 + 3)
})
