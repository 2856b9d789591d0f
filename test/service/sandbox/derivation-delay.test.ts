import { describe, expect } from 'vitest'
import { test as base, soon } from '../../support/fixtures.ts'
import { json, office, openSandboxWorld, runner, type SandboxWorld, steps } from './sandbox-world.ts'

const machine = () => Date.parse('2026-11-18T12:00:00Z')

const test = base.extend<{ world: SandboxWorld }>({
  world: async ({ serviceUrl }, use) => {
    const world = await openSandboxWorld({ databaseUrl: serviceUrl, days: 3, derives: true, machine })
    await world.sandbox.derived()
    await use(world)
    await world.sandbox.close()
  },
})

async function send(world: SandboxWorld, externalId: string): Promise<void> {
  const { profileToken } = await world.profileToken(externalId)
  const headers = { authorization: `profile ${profileToken}` }
  const body = [8, 9, 10].map((hour) => ({ ...steps(hour), value: Math.round(1000 * Math.random()) }))
  expect((await world.api('profile/data/log', { method: 'POST', headers, body })).status).toBe(200)
}

async function read(world: SandboxWorld, externalId: string, more: Record<string, string> = {}) {
  const headers = { authorization: `account ${await world.accountToken()}`, ...more }
  const { status, headers: answered } = await world.api(`profile/biomarker/${externalId}`, { headers })
  return { status, tag: answered['etag'], state: answered['derivation-state'] }
}

describe('a delayed derivation', () => {
  test('keeps the named profiles pending, and no other', async ({ world }) => {
    const before = await read(world, runner)
    expect(before).toMatchObject({ status: 200, state: 'finished' })
    const hour = { delayMs: 3_600_000, profiles: [runner] }
    expect(json(await world.control('PUT', '/derivation', hour))).toEqual({
      delayMs: 0,
      profiles: { [runner]: 3_600_000 },
    })
    await send(world, runner)
    await send(world, office)

    await expect.poll(() => read(world, office), soon).toMatchObject({ state: 'finished' })
    expect(await read(world, runner)).toEqual({ ...before, state: 'pending' })
    expect(await read(world, runner, { 'if-none-match': String(before.tag) })).toMatchObject({
      status: 304,
      state: 'pending',
    })

    expect(json(await world.control('DELETE', '/derivation'))).toEqual({ delayMs: 0, profiles: {} })
    await expect.poll(() => read(world, runner), soon).toMatchObject({ state: 'finished' })
    expect((await read(world, runner)).tag).not.toBe(before.tag)
  })

  test('ends after its time, counted in real time whatever the clock of the sandbox says', async ({ world }) => {
    await world.sandbox.derivationDelay.set({ delayMs: 700 })
    const sentAt = performance.now()
    await send(world, runner)
    await world.control('POST', '/clock', { advanceHours: 1 })
    await expect.poll(() => read(world, runner), soon).toMatchObject({ state: 'finished' })
    expect(performance.now() - sentAt).toBeGreaterThanOrEqual(700)
  })

  test('is refused beyond an hour or below nothing', async ({ world }) => {
    for (const delayMs of [-1, 3_600_001, '5']) {
      expect((await world.control('PUT', '/derivation', { delayMs })).status).toBe(400)
    }
    expect(json(await world.control('GET', '/derivation'))).toEqual({ delayMs: 0, profiles: {} })
  })
})

test('a fault in the records takes the tag from the answer, and the state too where the truth will change', async ({
  world,
}) => {
  const before = await read(world, runner)
  const held = { 'if-none-match': String(before.tag) }
  const faults = {
    late: undefined,
    revised: undefined,
    vanished: undefined,
    duplicates: 'finished',
    'old-names': 'finished',
  }
  for (const [name, state] of Object.entries(faults)) {
    await world.control('PUT', '/faults', { name, rate: 1, settings: name === 'vanished' ? { hours: 90_000 } : {} })
    const struck = await read(world, runner, held)
    expect(struck.status, name).not.toBe(304)
    expect([struck.tag, struck.state], name).toEqual([undefined, state])
  }

  await world.control('DELETE', '/faults')
  expect((await read(world, runner, held)).status).toBe(304)
})
