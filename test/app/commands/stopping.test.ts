import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { jsonResultSchemas } from '../../../src/app/results/json-results.ts'
import { type CommandWorld, openCommandWorld } from './command-world.ts'

/** People whom no run has read. Each test has a copy of the warehouse; upstream is shared. */
let unread: CommandWorld
let world: CommandWorld
const timeout = 300_000
/** So slow that no job has ended when the signal comes, and quick enough for the drain. */
const slow = { name: 'latency', rate: 1, settings: { delayMs: 400 } } as const
const range = ['--from', '2010-01-01', '--to', '2018-01-01', '--stream', 'scores', '--stream', 'biomarkers']

beforeAll(async () => {
  unread = await openCommandWorld({ profiles: 4, days: 3 })
  await unread.json('profiles', 'discover')
}, timeout)
afterAll(() => unread.close(), timeout)
beforeEach(async () => {
  world = await unread.copy()
}, timeout)
afterEach(async () => {
  world.sandbox.faults.set([])
  await world.close()
}, timeout)

test('Ctrl-C drains a sync: running jobs are stored, the run is closed, the next sync does the rest', {
  timeout,
}, async () => {
  world.sandbox.faults.set([slow])
  const sync = world.start(['sync'])
  await sync.said(/working/)
  sync.kill('SIGINT')
  const ended = await sync.ended
  world.sandbox.faults.set([])
  const [after] = await world.json('sync')
  const runs = await world.query('select kind, state from vitalsync.runs order by id')

  expect(ended.code).toBe(1)
  expect(ended.stderr).toContain('stopping')
  expect(ended.stdout).toContain('stopped before its end')
  expect(after).toMatchObject({ state: 'done', failed: 0 })
  expect(runs).toEqual([
    { kind: 'sync', state: 'stopped' },
    { kind: 'sync', state: 'done' },
  ])
})

test('twice Ctrl-C stops at once', { timeout }, async () => {
  world.sandbox.faults.set([{ ...slow, settings: { delayMs: 20_000 } }])
  const sync = world.start(['backfill', '--from', '2001-01-01', '--to', '2001-02-01'])
  await sync.said(/working/)
  sync.kill('SIGINT')
  await sync.said(/stopping/)
  sync.kill('SIGINT')
  const ended = await sync.ended
  world.sandbox.faults.set([])

  expect(ended.code).toBe(130)
})

test('a back-fill that was killed is carried on by the same command, and nothing is asked twice', {
  timeout,
}, async () => {
  world.sandbox.faults.set([{ ...slow, settings: { delayMs: 150 } }])
  const [planned] = await world.json('plan', ...range)
  const killed = world.start(['backfill', ...range])
  await killed.said(/working/)
  await covered(1)
  killed.kill('SIGKILL')
  await killed.ended
  world.sandbox.faults.set([])
  const left = jsonResultSchemas.plan.parse((await world.json('plan', ...range))[0])
  const again = await world.start(['backfill', ...range, '--json']).ended
  const [rest] = await world.json('plan', ...range)

  expect(left.windows).toBeLessThan(jsonResultSchemas.plan.parse(planned).windows)
  expect(left.windows).toBeGreaterThan(0)
  expect(again.stderr).toMatch(/carrying on with run \d+/)
  expect(jsonResultSchemas.backfill.parse(JSON.parse(again.stdout))).toMatchObject({ state: 'done', failed: 0 })
  expect(rest).toMatchObject({ windows: 0 })
})

/** Waits until at least this many windows of the range are covered. */
async function covered(windows: number): Promise<void> {
  for (;;) {
    const [row] = await world.query(`select count(*)::int as n from vitalsync.ledger
      where covered && '{[2010-01-01, 2018-01-01)}' and stream in ('scores', 'biomarkers')`)
    if (Number(row?.['n']) >= windows) return
  }
}
