import { afterAll, beforeAll, expect, test } from 'vitest'
import { jsonResultSchemas } from '../../../src/app/results/json-results.ts'
import { type CommandWorld, openCommandWorld } from './command-world.ts'

/** A warehouse in which nothing has happened yet, and an upstream without people. */
let world: CommandWorld
const timeout = 300_000

beforeAll(async () => {
  world = await openCommandWorld({ profiles: 0, days: 1 })
}, timeout)
afterAll(() => world.close(), timeout)

test('a sync of nobody is done, says that nobody is known, and how to take people in', { timeout }, async () => {
  const { code, stdout, stderr } = await world.run('sync')

  expect(code).toBe(0)
  expect(stdout).toContain('sync done')
  expect(stderr).toContain('Nobody is known yet')
  for (const command of ['profiles add', 'profiles import', 'profiles discover'])
    expect(stderr).toContain(`vitalsync ${command}`)
})

test('what else is about everybody says so of nobody', { timeout }, async () => {
  const range = ['--from', '2020-01-01', '--to', '2020-02-01']
  const codes = []
  for (const words of [['backfill', ...range], ['plan', ...range], ['gaps'], ['verify']]) {
    const { code, stderr } = await world.run(...words)
    expect(stderr, words[0]).toContain('Nobody is known yet')
    codes.push(code)
  }

  expect(codes).toEqual([0, 0, 0, 1])
})

test('plan reckons with the rate of the latest runs, once there are some', { timeout }, async () => {
  await world.run('profiles', 'add', 'ada', '--from', '2020-01-01')
  const words = ['plan', '--from', '2020-01-01', '--to', '2020-07-01']
  const plan = async () => jsonResultSchemas.plan.parse((await world.json(...words))[0])
  const unmeasured = await plan()
  const { stdout: first } = await world.run(...words)
  // 400 requests in 100 s and 200 in 50 s are 4 a second; 10 requests say nothing, and neither does a run that failed.
  await world.query(
    `insert into vitalsync.runs (kind, state, started_at, ended_at, requests, enqueued_all)
     select 'sync', state, now() - seconds * interval '1 second', now(), requests, true
     from (values (100, 400, 'done'), (50, 200, 'done'), (100, 10, 'done'), (1, 900, 'failed')) as one (seconds, requests, state)`,
  )
  const measured = await plan()
  const { stdout: second } = await world.run(...words)

  expect(unmeasured.windows).toBeGreaterThan(0)
  expect(unmeasured).toMatchObject({ measuredPerSecond: null, expectedSeconds: unmeasured.seconds })
  expect(first).toContain('the budget; no run has been measured yet')
  expect(measured.measuredPerSecond).toBeCloseTo(4, 6)
  expect(measured.expectedSeconds).toBeCloseTo(measured.windows / 4, 6)
  expect(second).toMatch(/about .+ at the 4\.0 a second of the latest runs, at least .+ a second, the budget/)
})
