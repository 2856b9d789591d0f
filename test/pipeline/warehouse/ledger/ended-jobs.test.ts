import { expect } from 'vitest'
import { DAY, MINUTE } from '../../../../src/base/time/units.ts'
import { soon } from '../../../support/fixtures.ts'
import { countLockWaiters } from '../../../support/lock-waiters.ts'
import { streamByName } from '../../../support/stream-by-name.ts'
import {
  connect,
  dueInMinutes,
  endedJob,
  scoresReading,
  test,
  type Warehouse,
  wantedFromMs,
} from '../../../support/test-warehouse.ts'

test('a profile that is done is due after the next nightly, or earlier when a part of it falls due', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { ledger, outbox, writer, rows } = warehouse
  const finish = () => ledger.recordFinished(endedJob(ada))

  await finish()
  expect(await dueInMinutes(warehouse, ada)).toBe(26 * 60)

  const window = { startMs: 0, endMs: 1 }
  await ledger.recordRefusal({ profileId: ada, stream: 'scores', window, status: 400, reason: 'no' })
  await finish()
  expect(await dueInMinutes(warehouse, ada)).toBe(15)
  await rows(`update vitalsync.refusals set next_try_at = statement_timestamp() - interval '1 day'`)
  await finish()
  expect(await dueInMinutes(warehouse, ada)).toBe(26 * 60)

  const item = { profileId: ada, stream: 'data-logs', itemKey: 'a', body: '{}', startAtMs: 0, endAtMs: 0 } as const
  await outbox.add([item])
  await rows(`update vitalsync.parcels set added_at = statement_timestamp() - interval '2 minutes'`)
  await finish()
  expect(await dueInMinutes(warehouse, ada)).toBe(5)
  const { parcels } = await outbox.readWaiting(ada, 'data-logs')
  await outbox.markSent({ profileId: ada, stream: 'data-logs', parcels })
  await finish()
  expect(await dueInMinutes(warehouse, ada)).toBe(60)

  // A stream that was read when the reading counted makes no profile due again, however far the touched span reaches.
  await rows(`update vitalsync.ledger set touched_at = statement_timestamp() - interval '2 hours'`)
  for (const name of ['scores', 'biomarkers', 'archetypes', 'trends', 'comparisons'] as const) {
    const stream = streamByName(name)
    const reading = { generation: 1, sentAtMs: Date.now(), word: 'finished' } as const
    const window = { startMs: wantedFromMs, endMs: Date.now() }
    await writer.store(scoresReading({ profileId: ada, stream, window, ...reading, records: [] }))
  }
  await finish()
  expect(await dueInMinutes(warehouse, ada)).toBe(26 * 60)
})

test('a profile stays due for what came while its job ran', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { ledger, outbox, rows, profiles } = warehouse
  const due = async () => (await profiles.listDue('0', 10)).ids.length === 1
  const unmark = () => rows(`update vitalsync.profiles set due_at = '-infinity'`)
  const begunAtMs = Date.now() - 1000

  await rows(`update vitalsync.profiles set due_at = statement_timestamp()`)
  await ledger.recordFinished(endedJob(ada, { begunAtMs }))
  expect(await due()).toBe(true)
  for (const before of [
    `'-infinity'`,
    `statement_timestamp() - interval '3 s'`,
    `statement_timestamp() + interval '1 hour'`,
    // The job began within this millisecond.
    `to_timestamp(${begunAtMs + 1} / 1000.0)`,
  ]) {
    await rows(`update vitalsync.profiles set due_at = ${before}`)
    await ledger.recordFinished(endedJob(ada, { begunAtMs }))
    expect(await dueInMinutes(warehouse, ada)).toBe(26 * 60)
  }

  await outbox.add([{ profileId: ada, stream: 'data-logs', itemKey: 'a', body: '{}', startAtMs: 0, endAtMs: 0 }])
  await ledger.recordFinished(endedJob(ada, { begunAtMs }))
  expect(await due()).toBe(true)
  await rows(`update vitalsync.parcels set added_at = to_timestamp(${begunAtMs - MINUTE} / 1000.0)`)
  await unmark()
  await ledger.recordFinished(endedJob(ada, { begunAtMs }))
  expect(await dueInMinutes(warehouse, ada)).toBe(5)
  await outbox.add([{ profileId: ada, stream: 'tags', itemKey: 'b', body: '{}', startAtMs: 0, endAtMs: 0 }])
  await unmark()
  await ledger.recordFinished(endedJob(ada, { begunAtMs }))
  expect(await due()).toBe(true)
})

/** Those of these people who are due. A warehouse in buckets has others, who were added to find neighbours. */
const dueAmong = async ({ profiles }: Warehouse, people: readonly string[]) =>
  (await profiles.listDue('0', 1000)).ids.filter((id) => people.includes(id))

test('of two jobs of a profile that end together, the one that began first decides what came meanwhile', async ({
  warehouse,
}) => {
  const [eve = '', ada = ''] = await warehouse.addNeighbours(2)
  const { ledger, rows } = warehouse
  await rows(`update vitalsync.profiles set due_at = statement_timestamp() - interval '2 seconds'`)
  const begun = (job: string, ago: number) => endedJob(ada, { job, begunAtMs: Date.now() - ago })

  // Those that end while the first is recorded are recorded together.
  const jobs = [endedJob(eve), begun('backfill-profile', 1000), begun('sync-profile', 60_000)]
  await Promise.all(jobs.map((job) => ledger.recordFinished(job)))

  expect(await dueAmong(warehouse, [eve, ada])).toEqual([ada])
})

test('a difference that is found while ended jobs wait for its profile makes it due, and they wait in one order', async ({
  warehouse,
  warehouseUrl,
}) => {
  const [eve = '', ada = '', bob = ''] = await warehouse.addNeighbours(3)
  const { ledger, rows } = warehouse
  await rows(`update vitalsync.profiles set due_at = '-infinity'`)
  const holder = await connect(warehouseUrl)
  await holder.query('begin')
  await holder.query('update vitalsync.profiles set due_at = clock_timestamp() where id = $1', [bob])

  const begunAtMs = Date.now() - 1000
  const finishing = [eve, bob, ada].map((profileId) => ledger.recordFinished(endedJob(profileId, { begunAtMs })))
  await expect.poll(() => countLockWaiters(rows), soon).toBe(1)
  // A session that waits for the later profile holds the earlier one.
  expect(await rows('select id from vitalsync.profiles where id = $1 for update skip locked', [ada])).toEqual([])
  await holder.query('commit')
  await Promise.all(finishing)
  await holder.end()

  expect(await dueAmong(warehouse, [eve, ada, bob])).toEqual([bob])
})

test('a profile is due again with the first of its streams, but with a refused one when its refusal ends', async ({
  warehouse,
}) => {
  const [ada = '', bob = ''] = await warehouse.addNeighbours(2)
  const { ledger, rows } = warehouse
  /** Sets, in minutes from now, when a reading of the stream counts and when the last one was sent. */
  const digest = (stream: string, countsIn: number, readIn: number | null, digesting = '{(,)}') =>
    rows(
      `update vitalsync.ledger set digesting = $5, digested_at = now() + $3 * interval '1 minute',
         read_at = now() + $4 * interval '1 minute' where profile_id = $1 and stream = $2`,
      [ada, stream, countsIn, readIn, digesting],
    )
  const refuse = async (profileId: string, stream: string, minutes: number) => {
    const window = { startMs: wantedFromMs, endMs: wantedFromMs + DAY }
    await ledger.recordRefusal({ profileId, stream, window, status: 400, reason: 'no' })
    await rows(
      `update vitalsync.refusals set next_try_at = now() + $3 * interval '1 minute' where profile_id = $1 and stream = $2`,
      [profileId, stream, minutes],
    )
  }
  const due = async () => {
    await ledger.recordFinished(endedJob(ada))
    return dueInMinutes(warehouse, ada)
  }

  await digest('scores', 50, null)
  await digest('trends', 40, null)
  expect(await due()).toBe(40)
  await digest('trends', 30, null, '{}') // nothing of it is left to read
  expect(await due()).toBe(50)
  await digest('data-logs', -30, -30) // nobody reads what is pushed alone
  await digest('trends', -30, -30, '{}')
  await digest('scores', -30, -29)
  expect(await due()).toBe(60)
  await digest('scores', -30, -30)
  expect(await due()).toBe(60)
  await refuse(bob, 'scores', 90)
  await refuse(ada, 'trends', 120)
  expect(await due()).toBe(60)
  await refuse(ada, 'scores', 90)
  expect(await due()).toBe(90)
  await refuse(ada, 'scores', -1)
  expect(await due()).toBe(60)
  await digest('scores', -30, -30, '{}')
  expect(await due()).toBe(120)
  await refuse(ada, 'trends', -1)
  expect(await due()).toBe(26 * 60)
})

test('a failure is kept with its reason until the next success, and the sweep waits longer each time', async ({
  warehouse,
}) => {
  const [ada = '', bob = ''] = await warehouse.addNeighbours(2)
  const { ledger, rows } = warehouse
  const scope = '[["from",1]]'
  const params = { from: 1 }
  const fail = () => ledger.recordFailed(endedJob(ada, { params }), { reason: 'not known upstream', hint: 'erase it' })

  expect(await dueAmong(warehouse, [ada, bob])).toEqual([ada, bob])
  await fail()
  expect(await dueAmong(warehouse, [ada, bob])).toEqual([bob])
  expect(await dueInMinutes(warehouse, ada)).toBe(15)
  for (let times = 0; times < 10; times += 1) await fail()
  expect(await dueInMinutes(warehouse, ada)).toBe(26 * 60)
  expect(await rows('select reason, hint, attempts, scope from vitalsync.failures')).toEqual([
    { reason: 'not known upstream', hint: 'erase it', attempts: 11, scope },
  ])

  await ledger.recordFinished(endedJob(ada))
  expect(await rows('select 1 from vitalsync.failures')).toEqual([])
})
