import { expect } from 'vitest'
import { setOrReadSourcePriority } from '../../../src/app/service-accounts.ts'
import type { DataLogInput } from '../../../src/base/contract/data-log.ts'
import { namedUuid } from '../../../src/base/text/digest.ts'
import { recomputeProfile } from '../../../src/service/recompute/recompute-profile.ts'
import type { ServicePool } from '../../../src/service/store/service-pool.ts'
import { setSourcePriority } from '../../../src/service/store/source-priority.ts'
import { test } from '../../support/fixtures.ts'
import { daysFrom } from '../derive/made-logs.ts'
import { createProfile, quiet, type RecomputeWorld, rowsOf, upload, withRecompute } from './recompute-world.ts'

const at = '2026-11-18T15:00:00Z'
const days = daysFrom('2026-11-09', 7)

/** The same hour counted by a watch and by a phone, whose count is 100 higher. */
const walks: DataLogInput[] = days.flatMap((day) =>
  (['watch', 'phone'] as const).map((deviceType) => ({
    id: namedUuid('2c1bb5a1-5c0e-5a0b-8d5f-6a7f2f9f0a13', [day, deviceType]),
    logType: 'activity' as const,
    dataType: 'steps',
    value: deviceType === 'watch' ? 1000 : 1100,
    unit: 'count',
    source: `${deviceType}-app`,
    recordingMethod: 'automatically_recorded' as const,
    deviceType,
    startDateTime: `${day}T09:00:00Z`,
    endDateTime: `${day}T10:00:00Z`,
  })),
)

async function accountOf({ pool }: RecomputeWorld, profileId: string): Promise<string> {
  const { rows } = await pool.query(
    'select name from service.accounts join service.profiles using (account_id) where profile_id = $1',
    [profileId],
  )
  return String(rows[0]?.name)
}

async function steps(world: RecomputeWorld, profileId: string): Promise<unknown[]> {
  const rows = await rowsOf(world, profileId)
  const daily = rows.filter(({ body }) => body['type'] === 'steps' && body['periodicity'] === 'daily')
  return [...new Set(daily.map(({ body }) => body['value']))]
}

test('an account sets its preferred sources, and only its own profiles are derived again', async ({ serviceUrl }) => {
  await withRecompute(serviceUrl, at, async (world) => {
    const [own, other] = [await createProfile(world.pool), await createProfile(world.pool)]
    for (const profileId of [own, other]) await upload(world, profileId, walks)
    await world.recompute.idle()
    expect(await steps(world, own)).toEqual(['1000'])
    const command = { databaseUrl: serviceUrl, log: quiet, nowAt: new Date(world.clock.now) }
    const account = await accountOf(world, own)

    expect(await setOrReadSourcePriority(command, { account, sources: ['phone-app'] })).toEqual({
      sources: ['phone-app'],
      profiles: 1,
    })
    await world.recompute.idle()

    expect(await steps(world, own)).toEqual(['1100'])
    expect(await steps(world, other)).toEqual(['1000'])
    expect((await rowsOf(world, other)).every(({ version }) => version === 1)).toBe(true)
    const others = { account: await accountOf(world, other), sources: undefined }
    expect(await setOrReadSourcePriority(command, others)).toMatchObject({ sources: [] })
    // A new day follows the order too; reading it or setting the same order again changes nothing.
    const next = walks.slice(0, 2).map((log) => ({
      ...log,
      id: namedUuid('2c1bb5a1-5c0e-5a0b-8d5f-6a7f2f9f0a13', ['next', log.id ?? '']),
      startDateTime: '2026-11-17T09:00:00Z',
      endDateTime: '2026-11-17T10:00:00Z',
    }))
    await upload(world, own, next)
    await world.recompute.idle()
    expect(await steps(world, own)).toEqual(['1100'])
    expect(await setOrReadSourcePriority(command, { account, sources: undefined })).toMatchObject({
      sources: ['phone-app'],
    })
    expect(await setOrReadSourcePriority(command, { account, sources: ['phone-app'] })).toMatchObject({
      profiles: 0,
    })

    await setOrReadSourcePriority(command, { account, sources: [] })
    await world.recompute.idle()
    expect(await steps(world, own)).toEqual(['1000'])
    await expect(setOrReadSourcePriority(command, { account: 'nobody', sources: ['a'] })).rejects.toThrow(
      'no such account',
    )
  })
})

/** A pool whose connections pause once, after the answer to the statement of this name, until `then` is done. */
function pausing(pool: ServicePool, name: string, then: () => Promise<void>): ServicePool {
  let done = false
  const connect = async () => {
    const client = await pool.connect()
    const query = async (...words: Parameters<typeof client.query>) => {
      const answer = await client.query(...words)
      if (Object(words[0]).name === name && !done) {
        done = true
        await then()
      }
      return answer
    }
    return new Proxy(client, {
      get: (target, key) => (key === 'query' ? query : bound(target, key)),
    })
  }
  return new Proxy(pool, { get: (target, key) => (key === 'connect' ? connect : bound(target, key)) })
}

function bound(target: object, key: string | symbol): unknown {
  const value: unknown = Reflect.get(target, key)
  return typeof value === 'function' ? value.bind(target) : value
}

test.for([
  ...['read-change', 'read-marks', 'derivation-inputs', 'logs-of-days', 'delete-marks', 'record-derivation'].map(
    (name) => [name, []] as const,
  ),
  ['logs-of-days', [['tablet'], []]],
] as const)(
  'an order of sources that is set during a derivation, after its %s, is not lost, nor after the orders %j',
  async ([name, before], { serviceUrl }) => {
    await withRecompute(serviceUrl, at, async (world) => {
      const profileId = await createProfile(world.pool)
      await upload(world, profileId, walks)
      await world.recompute.idle()
      await upload(
        world,
        profileId,
        walks.slice(0, 2).map((log) => ({ ...log, value: log.value + 1 })),
      )
      const nowAt = new Date(world.clock.now)
      const account = await accountOf(world, profileId)
      const set = async () => void (await setSourcePriority(world.pool, { account, sources: ['phone'], nowAt }))

      for (const sources of before) await setSourcePriority(world.pool, { account, sources, nowAt })
      await recomputeProfile(pausing(world.pool, name, set), { profileId, nowAt, cohortOf: async () => null })
      await world.recompute.idle()

      expect((await steps(world, profileId)).toSorted()).toEqual(['1100', '1101'])
    })
  },
)
