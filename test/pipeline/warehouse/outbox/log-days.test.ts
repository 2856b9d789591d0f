import { expect } from 'vitest'
import { catalogue } from '../../../../config/streams.ts'
import { MINUTE } from '../../../../src/base/time/units.ts'
import type { OutboxItem } from '../../../../src/pipeline/transfer/parcel.ts'
import { createOutbox } from '../../../../src/pipeline/warehouse/outbox/outbox.ts'
import { createSeededRandom } from '../../../../src/service/sandbox/people/seeded-random.ts'
import { soon } from '../../../support/fixtures.ts'
import { countLockWaiters } from '../../../support/lock-waiters.ts'
import { connect, march, marchMs, test, type Warehouse } from '../../../support/test-warehouse.ts'

const evidence = { kind: 'steps', offsetMinutes: 0, device: 'watch', isTimed: true } as const

const item = (
  profileId: string,
  itemKey: string,
  minutes: readonly [number, number],
  more: object = {},
): OutboxItem => ({
  ...{ profileId, stream: 'data-logs', itemKey, body: JSON.stringify({ itemKey, minutes }) },
  ...{ startAtMs: marchMs(2) + minutes[0] * MINUTE, endAtMs: marchMs(2) + minutes[1] * MINUTE, evidence },
  ...more,
})

/** The notes without the parcels, whose ids are drawn in the order of the calls. */
const noted = ({ rows }: Warehouse) =>
  rows(`select d.local_date::text as day, kind, bit_count(minutes)::int as minutes, minutes::text as bits, device, revised
    from vitalsync.log_days d join vitalsync.profiles p on p.id = d.profile_id order by 1, 2`)

test('items note the day, the kind and the minutes that they cover, and no value', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const phone = { evidence: { ...evidence, kind: 'sleep', device: 'phone', offsetMinutes: -120 } }

  await warehouse.outbox.add([
    item(ada, 'a', [0, 30]),
    item(ada, 'b', [20, 40]),
    item(ada, 'night', [100, 130], phone),
    item(ada, 'untold', [500, 600], { evidence: undefined }),
  ])

  const days = (await noted(warehouse)).map(({ bits, ...day }) => ({ ...day, first: String(bits).indexOf('1') }))
  expect(days).toEqual([
    { day: '2026-03-01', kind: 'sleep', minutes: 20, device: 'phone', revised: false, first: 1420 },
    { day: '2026-03-02', kind: 'sleep', minutes: 10, device: 'phone', revised: false, first: 0 },
    { day: '2026-03-02', kind: 'steps', minutes: 40, device: 'watch', revised: false, first: 0 },
  ])
  const [parcels] = await warehouse.rows(
    `select bool_and(d.first_parcel = o.id and d.last_parcel = o.id) as same, bool_and(first_at = last_at) as once
     from vitalsync.log_days d, vitalsync.parcels o`,
  )
  expect(parcels).toEqual({ same: true, once: true })
})

test('the notes do not depend on the order of the additions, and the same addition changes nothing', async ({
  warehouse,
}) => {
  const random = createSeededRandom('log days')
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  const drawn = Array.from({ length: 60 }, (_, index) => {
    const from = random.integer(0, 2 * 1440)
    const more = { evidence: { ...evidence, device: random.pick(['phone', 'ring', 'watch']) } }
    return (profileId: string) => item(profileId, `log-${index}`, [from, from + random.integer(1, 200)], more)
  }).map((make) => [make(ada), make(bob)] as const)
  const ofAda = drawn.map(([log]) => log)
  const ofBob = ofAda.map((log) => ({ ...log, profileId: bob }))
  for (let at = 0; at < 60; at += 7) await warehouse.outbox.add(ofAda.slice(at, at + 7))
  await warehouse.outbox.add(ofBob.toReversed())
  await warehouse.outbox.add(ofBob.slice(10, 20))

  const differing = await warehouse.rows(
    `select a.local_date from vitalsync.log_days a full join vitalsync.log_days b on b.profile_id = $2 and b.local_date = a.local_date and b.kind = a.kind
     where a.profile_id = $1 and a.minutes is distinct from b.minutes`,
    [ada, bob],
  )
  expect(differing).toEqual([])
  expect(await warehouse.rows('select count(*)::int as n from vitalsync.log_days group by profile_id')).toEqual([
    { n: 3 },
    { n: 3 },
  ])
})

test('a log that moved leaves its former minutes behind, and is marked as revised', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  await warehouse.outbox.add([item(ada, 'a', [0, 30])])
  const [before] = await warehouse.rows('select first_at from vitalsync.log_days')

  await warehouse.outbox.add([item(ada, 'a', [60, 90])])

  expect(await noted(warehouse)).toMatchObject([{ day: march(2).slice(0, 10), minutes: 60, revised: true }])
  const [after] = await warehouse.rows(
    'select first_at, last_at > first_at as later, last_parcel > first_parcel as further from vitalsync.log_days',
  )
  expect(after).toEqual({ first_at: before?.['first_at'], later: true, further: true })
})

test('logs that were handed in before the import are noted with that time, the first and the last of each day', async ({
  warehouse,
}) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const handedIn = (day: number, device: string) => ({ evidence: { ...evidence, device, handedInAtMs: marchMs(day) } })

  await warehouse.outbox.add([
    item(ada, 'b', [10, 20], handedIn(6, 'phone')),
    item(ada, 'a', [0, 10], handedIn(4, 'watch')),
    item(ada, 'c', [1440, 1450], handedIn(4, 'watch')),
  ])
  await warehouse.outbox.add([item(ada, 'd', [1450, 1460], handedIn(3, 'watch'))])

  const days = await warehouse.rows(
    'select first_at as first, last_at as last, device from vitalsync.log_days order by local_date',
  )
  expect(days).toEqual([
    { first: new Date(marchMs(4)), last: new Date(marchMs(6)), device: 'phone' },
    { first: new Date(marchMs(3)), last: new Date(marchMs(4)), device: 'watch' },
  ])
})

test('logs are handed in when the clock of the warehouse says so', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { pool, rows } = warehouse

  await createOutbox({ pool, catalogue, firstReadingMs: 0, now: () => marchMs(7) }).add([item(ada, 'a', [0, 30])])

  const at = new Date(marchMs(7))
  expect(await rows('select first_at, last_at from vitalsync.log_days')).toEqual([{ first_at: at, last_at: at }])
})

test('logs that are added while the habit of the person is computed mark the person again, and nobody else', async ({
  warehouse,
  warehouseUrl,
}) => {
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  await warehouse.rows('update vitalsync.profiles set uploaded = false where id = $1', [bob])
  const client = await connect(warehouseUrl)
  await client.query('begin')
  await client.query('update vitalsync.profiles set uploaded = false where id = $1', [ada])

  const adding = warehouse.outbox.add([item(ada, 'a', [0, 30])])
  await expect.poll(() => countLockWaiters(warehouse.rows)).toBe(1)
  // Items of another person do not wait for it.
  const ended: string[] = []
  void warehouse.outbox.add([item(bob, 'a', [0, 30], { evidence: undefined })]).then(() => ended.push('added'))
  await expect.poll(async () => ended.length + (await countLockWaiters(warehouse.rows)), soon).toBe(2)
  expect(ended).toEqual(['added'])
  await client.query('commit')
  await client.end()
  await adding

  expect(await warehouse.rows('select external_id, uploaded from vitalsync.profiles order by 1')).toEqual([
    { external_id: 'ada', uploaded: true },
    { external_id: 'bob', uploaded: false },
  ])
})
