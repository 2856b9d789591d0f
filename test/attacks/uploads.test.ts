import { gzipSync } from 'node:zlib'
import { expect } from 'vitest'
import {
  accountAuth,
  call,
  registerProfile,
  type ServiceInternals,
  type ServiceWorld,
  stepsLog,
  test,
  withService,
} from '../service/service-world.ts'
import { test as withDatabase } from '../support/fixtures.ts'
import { countLockWaiters, rowsFrom } from '../support/lock-waiters.ts'

const path = '/api/v1/profile/data/log'
const MB = 1024 * 1024

/** One log with this many empty arrays in it: little text, much memory when parsed. */
const nested = (count: number) =>
  JSON.stringify([stepsLog({ unread: 0 })]).replace('"unread":0', `"unread":[${'[],'.repeat(count)}[]]`)

/** One account has three permits at most. */
const holdersOfAllPermits = async (world: ServiceWorld) => {
  const account = await accountAuth(world)
  const ofOther = await registerProfile(world, { account: await accountAuth(world, world.other) })
  return [ofOther, ...(await Promise.all(Array.from({ length: 3 }, () => registerProfile(world, { account }))))]
}

/** Four uploads hold the four permits, because their profiles are locked, while `use` runs. */
async function whileUploadsAreStuck<T>(
  inside: ServiceInternals,
  stuckAuths: Array<() => Promise<unknown>>,
  use: () => Promise<T>,
): Promise<T> {
  const holder = await inside.sql.connect()
  await holder.query('begin')
  await holder.query('select from service.profiles for update')
  const stuck = stuckAuths.map((send) => send())
  await expect.poll(() => countLockWaiters(rowsFrom(inside.sql))).toBe(4)
  try {
    return await use()
  } finally {
    await holder.query('rollback')
    holder.release()
    await Promise.all(stuck)
  }
}

test('bombs of one token neither end the service nor take its memory, while all permits are held', async ({
  world,
  inside,
}) => {
  const [attacker, neighbour] = [await registerProfile(world), await registerProfile(world)]
  const people = await holdersOfAllPermits(world)
  const send = (auth: string, body: unknown) => call(world, path, { method: 'POST', auth, body })
  const packed = new Uint8Array(gzipSync(nested(345_000)))
  expect(packed.length).toBeLessThan(3000)
  const bomb = () =>
    call(world, path, { method: 'POST', auth: attacker.auth, raw: packed, headers: { 'content-encoding': 'gzip' } })

  const holders = people.map(
    ({ auth }) =>
      () =>
        send(auth, [stepsLog()]),
  )
  await whileUploadsAreStuck(inside, holders, async () => {
    globalThis.gc?.()
    const before = process.memoryUsage().heapUsed
    const answers = await Promise.all(Array.from({ length: 80 }, bomb))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([413]))
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(150 * MB)
    expect((await call(world, '/api/v1/profile/score', { auth: neighbour.auth })).status).toBe(204)
  })
  expect((await send(neighbour.auth, [stepsLog()])).status).toBe(200)
})

test('bodies wait unparsed, and beyond a number of bytes they are refused at once', async ({ world, inside }) => {
  const attacker = await registerProfile(world)
  const people = await holdersOfAllPermits(world)
  await call(world, '/api/v1/profile/score', { auth: attacker.auth }) // its token is cached from now on
  const raw = nested(340_000)
  const statuses: number[] = []
  let sent: Array<Promise<unknown>> = []
  const holders = people.map(
    ({ auth }) =>
      () =>
        call(world, path, { method: 'POST', auth, body: [stepsLog()] }),
  )
  await whileUploadsAreStuck(inside, holders, async () => {
    sent = Array.from({ length: 80 }, async () => {
      const answer = await call(world, path, { method: 'POST', auth: attacker.auth, raw })
      if (answer.status === 429) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
      statuses.push(answer.status)
    })
    // 64 MiB of one account fit; the others are refused while those wait.
    await expect.poll(() => statuses.length).toBeGreaterThan(10)
    expect(new Set(statuses)).toEqual(new Set([429]))
  })
  await Promise.all(sent)
  // Those that waited have too many values.
  expect(new Set(statuses)).toEqual(new Set([429, 413]))
})

withDatabase('the bodies of all accounts together are bounded too', async ({ serviceUrl }) => {
  await withService(serviceUrl, { heldBytesMax: 1.5 * MB, heldBytesPerAccountMax: MB }, async (world) => {
    const first = await registerProfile(world)
    const second = await registerProfile(world, { account: await accountAuth(world, world.other) })
    const sql = world.inside?.sql
    const holder = await sql?.connect()
    await holder?.query('begin')
    await holder?.query('select from service.profiles for update')
    const send = (auth: string, bytes: number) =>
      call(world, path, { method: 'POST', auth, raw: `${JSON.stringify([stepsLog()])}${' '.repeat(bytes)}` })
    const held = send(first.auth, 0.9 * MB)
    await expect.poll(() => sql && countLockWaiters(rowsFrom(sql))).toBe(1)

    const ofAll = await send(second.auth, 0.8 * MB)
    expect([ofAll.status, Number(ofAll.headers.get('retry-after'))]).toEqual([503, expect.any(Number)])
    expect(Number(ofAll.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await send(first.auth, 0.3 * MB)).status).toBe(429)

    await holder?.query('rollback')
    holder?.release()
    expect((await held).status).toBe(200)
    expect((await send(second.auth, 0.8 * MB)).status).toBe(200)
  })
})

test('an upload whose caller has left is skipped', async ({ world, inside }) => {
  const [leaver, holding] = [await registerProfile(world), await holdersOfAllPermits(world)]
  const log = stepsLog()
  const headers = { 'content-type': 'application/json', authorization: leaver.auth }
  const holders = holding.map(
    ({ auth }) =>
      () =>
        call(world, path, { method: 'POST', auth, body: [stepsLog()] }),
  )
  await whileUploadsAreStuck(inside, holders, async () => {
    const leaving = new AbortController()
    const left = fetch(world.url + path, {
      method: 'POST',
      headers,
      body: JSON.stringify([log]),
      signal: leaving.signal,
    })
    // A later request of the same kind has arrived: so has the one before it.
    await call(world, '/api/v1/profile/score', { auth: leaver.auth })
    leaving.abort()
    await expect(left).rejects.toThrow()
    // Everything that the service reads after the end of that connection comes later.
    for (let times = 0; times < 3; times += 1) await call(world, '/api/v1/profile/score', { auth: leaver.auth })
  })
  const after = await call(world, path, { method: 'POST', auth: leaver.auth, body: [stepsLog()] })
  expect(after.status).toBe(200)
  const stored = await inside.sql.query('select from service.logs where id = $1', [log['id']])
  expect(stored.rowCount).toBe(0)
})

test('values that no body has are refused, whatever the data type', async ({ world }) => {
  const { auth } = await registerProfile(world)
  for (const [dataType, value] of [
    ['weight', 1.7e308],
    ['steps', -1],
    ['heart_rate', 1e200],
    ['some_new_kind', 1.7e308],
    ['__proto__', 1.7e308],
  ] as const) {
    const answer = await call(world, path, { method: 'POST', auth, body: [stepsLog({ dataType, value })] })
    expect([dataType, answer.status]).toEqual([dataType, 400])
  }
})
