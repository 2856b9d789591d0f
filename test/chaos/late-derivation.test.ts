import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { createLog } from '../../src/base/log.ts'
import { HOUR, MINUTE, SECOND } from '../../src/base/time/units.ts'
import { createSeededRandom } from '../../src/service/sandbox/people/seeded-random.ts'
import { startSandbox } from '../../src/service/start-sandbox.ts'
import { needRedis } from '../support/own-redis.ts'
import { openTestPipeline, queueKinds, redisOfOurOwn, test } from '../support/test-pipeline.ts'
import { replayLateDerivation } from './late-derivation.ts'

const seed = 'late'
const isLong = process.env['LATE_PEOPLE'] !== undefined
/** `npm run late` takes the people and the delays of the night that broke the promise: up to ten minutes behind. */
const scale = isLong
  ? {
      people: Number(process.env['LATE_PEOPLE']),
      days: 2,
      delaysMs: [6 * SECOND, 10 * MINUTE] as const,
      sweepEveryMs: 10 * SECOND,
      lookEveryMs: 2 * SECOND,
      peopleObserved: 20,
      killEveryMs: 20 * SECOND,
      timeoutMs: 3 * HOUR,
    }
  : {
      people: 5,
      days: 5,
      delaysMs: [100, 5 * SECOND] as const,
      sweepEveryMs: 700,
      lookEveryMs: 100,
      peopleObserved: 5,
      killEveryMs: 4 * SECOND,
      timeoutMs: 4 * MINUTE,
    }

const say = (text: string) => {
  if (isLong) process.stdout.write(`${(performance.now() / SECOND).toFixed(1)} s: ${text}\n`)
}

for (const engine of queueKinds) {
  test(`while upstream derives late, a covered day lacks nothing that is final, and in the end all agrees (${engine})`, {
    timeout: 2 * scale.timeoutMs,
  }, async ({ serviceUrl, warehouseUrl, skip, onTestFinished }) => {
    if (engine === 'redis') needRedis(skip)
    const folder = await mkdtemp(join(tmpdir(), 'vitalsync-late-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const log = createLog({ level: 'silent' })
    const sandbox = await startSandbox({ databaseUrl: serviceUrl, port: 0, profiles: scale.people, seed, days: 2, log })
    onTestFinished(() => sandbox.close())
    await sandbox.derived()
    const queueUrl = engine === 'redis' ? await redisOfOurOwn() : warehouseUrl
    const settings = { HISTORY_DAYS: '40', REREAD_SECONDS: '1' }
    const line = await openTestPipeline({ warehouseUrl, queueUrl, upstream: sandbox, settings })
    onTestFinished(() => line.close())
    const random = createSeededRandom(seed, engine)

    const result = await replayLateDerivation({
      sandbox,
      serviceUrl,
      line,
      folder,
      seed,
      ...scale,
      random: () => random.between(0, 1),
      signal: AbortSignal.timeout(scale.timeoutMs),
      say,
    })

    say(JSON.stringify(result))
    expect(result.broken).toEqual([])
    expect(result.left).toBe('')
    expect(result.compared).toBeGreaterThan(0)
    expect(result.logs).toBeGreaterThan(0)
  })
}
