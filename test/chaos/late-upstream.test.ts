import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'vitest'
import { HOUR } from '../../src/base/time/units.ts'
import { daysAgoMs } from '../support/sample-scores.ts'
import { queueKinds, type TestPipeline, test } from '../support/test-pipeline.ts'
import { agreeingDays, brokenPromises, deriveLate, type LateLog } from './late-upstream.ts'
import { startWorkerProcess, type WorkerProcess } from './workers.ts'

/** How long logs are pushed and workers killed. */
const seconds = Number(process.env['LATE_SECONDS'] ?? 3)
const seed = process.env['CHAOS_SEED'] ?? String(Math.trunc(Date.now() / 1000))
const people = ['ada', 'bob', 'cyd', 'dee']
const days = [3, 5, 8, 13, 20]

/** Hours and days, scaled to seconds: upstream is at most 3 s late, and a day settles 4 s after its push at the earliest. */
const latenessMaxMs = 3000
const settings = {
  HISTORY_DAYS: '30',
  REREAD_SECONDS: '1,1,2,4',
  SETTLE_MIN_SECONDS: '4',
  SETTLE_MAX_SECONDS: '4',
  CONCURRENCY: '4',
}

function createChance(from: string): (below: number) => number {
  let turns = 0
  return (below) => createHash('sha256').update(`${from}/${turns++}`).digest().readUInt32BE(0) % below
}

for (const engine of queueKinds) {
  test(`an upstream that says nothing and derives late never makes a covered day untrue, and the sweeps agree with it in the end (${engine}, seed ${seed})`, {
    timeout: 300_000,
  }, async ({ open, peer, onTestFinished }) => {
    const line = await open(engine, settings)
    await line.addProfiles(...people)
    const chance = createChance(`${seed}/${engine}`)
    const late = deriveLate(peer, people, { chance, latenessMaxMs })
    const workers: WorkerProcess[] = []
    onTestFinished(async () => void (await Promise.all(workers.map((worker) => worker.kill()))))
    const broken: string[] = []
    const look = async () => broken.push(...(await brokenPromises(line, late, days)))
    const start = async () => workers.push(await startWorkerProcess(line.settings))
    await start()

    let value = 0
    const acts = [
      start,
      async () => workers.splice(chance(workers.length + 1), 1)[0]?.kill(),
      ...Array.from({ length: 6 }, () => async () => {
        value += 1
        await push(line, { person: people[chance(4)] ?? '', days: days[chance(5)] ?? 0, value })
      }),
    ]
    // On a busy machine the first acts may take all the time: it goes on until something was pushed.
    for (const until = performance.now() + seconds * 1000; performance.now() < until || value === 0; ) {
      if (workers.length < 3) await acts[chance(acts.length)]?.()
      else await workers.splice(0, 1)[0]?.kill()
      await line.tick('sweep')
      await look()
      await wait(chance(100)) // kills come at random times
    }
    expect(broken).toEqual([])

    if (workers.length === 0) await start()
    const swept = async () => {
      await line.tick('sweep')
      await look()
      const agreeing = await agreeingDays(line, late, days)
      return broken.length > 0 || agreeing === people.length * days.length
    }
    await expect.poll(swept, { timeout: 240_000, interval: 200 }).toBe(true)
    expect(broken).toEqual([])
    expect(late.derived.length).toBeGreaterThan(0)
    expect(await line.rows('select 1 from vitalsync.parcels')).toEqual([])
    expect(await line.rows(`select 1 from vitalsync.ledger where digesting <> '{}' and stream = 'scores'`)).toEqual([])
  })
}

async function push(line: TestPipeline, log: LateLog): Promise<void> {
  const profileId = (await line.pipeline.profiles.findId(log.person))?.profileId ?? '0'
  const startAtMs = daysAgoMs(log.days)
  const body = JSON.stringify({ id: `log-${log.value}`, ...log })
  const item = { profileId, stream: 'data-logs', itemKey: `log-${log.value}`, startAtMs, endAtMs: startAtMs + HOUR }
  await line.pipeline.outbox.add([{ ...item, body }])
}
