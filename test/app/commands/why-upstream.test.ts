import { afterAll, beforeAll, expect, test } from 'vitest'
import { plainFaults } from '../../../src/service/sandbox/faults/fault-catalogue.ts'
import { checkedIn } from './checked-json.ts'
import { type CommandWorld, openCommandWorld } from './command-world.ts'

const timeout = 300_000
const day = new Date(Date.now() - 5 * 86_400_000).toISOString().slice(0, 10)
const words = ['--profile', 'bob', '--date', day, '--stream', 'scores'] as const
let world: CommandWorld

/** Nothing was ever sent for Bob. */
beforeAll(async () => {
  world = await openCommandWorld({ profiles: 0, days: 8 })
  await world.run('profiles', 'add', 'bob')
  await world.run('sync')
}, timeout)
afterAll(() => world.close(), timeout)

const setFaults = async (names: readonly string[]) => {
  const { controlUrl, controlToken } = world.sandbox
  const { status } = await fetch(`${controlUrl}/faults`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${controlToken}`, 'content-type': 'application/json' },
    body: JSON.stringify(names.map((name) => ({ name, rate: 1 }))),
  })
  expect(status).toBe(200)
}
const byUpstream = /upstream says of/

test('why shows what upstream says of a missing score: minutes of what, of how many', { timeout }, async () => {
  await setFaults([])
  const { stdout, code } = await world.run('why', ...words)
  const [report] = await checkedIn(world, 'why', ...words)

  expect(code).toBe(0)
  expect(stdout).toContain('not_through_us: ')
  expect(stdout).toMatch(/upstream says of .*activity.*: no log tells of this day; wear: 0 of 600 minutes needed/)
  expect(stdout).toMatch(/upstream says of .*sleep.*: no log tells of this day; main sleep: 0 of 180 minutes needed/)
  expect(report).toMatchObject({
    cause: 'not_through_us',
    upstreamSays: expect.arrayContaining([expect.objectContaining({ lacks: expect.any(Array) })]),
  })
})

test('beside a plain upstream why says the same without it', { timeout }, async () => {
  await setFaults(plainFaults)
  const { stdout, stderr, code } = await world.run('why', ...words)

  expect([code, stderr]).toEqual([0, ''])
  expect(stdout).toContain('not_through_us: ')
  expect(stdout).not.toMatch(byUpstream)
})

test('upstream that is not reached takes nothing from the answer', { timeout }, async () => {
  const end = await world.start(['why', ...words], { UPSTREAM_URL: 'http://127.0.0.1:9' }).ended

  expect(end.code).toBe(0)
  expect(end.stdout).toContain('not_through_us: ')
  expect(end.stdout).not.toMatch(byUpstream)
})
