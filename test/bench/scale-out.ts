import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { pulledNames } from './canned.ts'
import { endOf, startEngines } from './engines.ts'
import { type Measure, type RoundOptions, rounded } from './measure.ts'
import { fillWarehouse, openSubject, people, settingsOf } from './subject.ts'
import { startFastUpstream } from './upstream.ts'

const latencyMs = 100
const inFlightEach = 8

/** One, two and four worker processes against an upstream that is slow to answer: does adding processes add work done? */
export async function run({ quick, say }: RoundOptions): Promise<Measure[]> {
  const engines = await startEngines()
  const upstream = await startFastUpstream()
  try {
    const rates = new Map<number, number>()
    for (const workers of quick ? [1, 4] : [1, 2, 4]) {
      const perSecond = (workers * inFlightEach * 1000) / latencyMs
      const profiles = Math.ceil((perSecond * (quick ? 8 : 20)) / pulledNames.length)
      const databaseUrl = await engines.database()
      const queueUrl = engines.redisUrl ?? (await engines.database())
      await fillWarehouse(databaseUrl, people(profiles))
      await engines.settle() // the fleet's memory of how fast upstream was, too
      // The fleet's budget grows with the fleet: it is upstream's to give, not what is measured here.
      const options = {
        databaseUrl,
        queueUrl,
        upstreamUrl: upstream.url,
        inFlight: workers * inFlightEach,
        concurrency: 16,
      }
      const children = Array.from({ length: workers }, () => startWorker(settingsOf(options)))
      const subject = await openSubject({ ...options, works: false })
      await upstream.set({ latencyMs })
      await wait(4000) // until all have started: starting is not what is measured
      const { run: done, seconds } = await subject.run('sync', { streams: pulledNames })
      await upstream.set({ latencyMs: 0 })
      rates.set(workers, done.requests / seconds)
      say(`    ${workers} worker processes: ${Math.round(done.requests / seconds)} requests/s of ${perSecond} that fit`)
      await subject.close()
      await Promise.all(children.map(endOf))
      await engines.drop(databaseUrl)
    }
    const [one = 0, four = 0] = [rates.get(1), rates.get(4)]
    const ratio = rounded(four / one)
    return [
      {
        name: 'scale-out: 4 worker processes',
        value: rounded(four),
        unit: 'requests/s',
        ratio,
        against: '1 worker process',
        goal: '≥ 3.5',
        holds: ratio >= 3.5,
      },
    ]
  } finally {
    await upstream.close()
    await engines.close()
  }
}

const cli = fileURLToPath(new URL('../../src/vitalsync.mjs', import.meta.url))

function startWorker(settings: Record<string, string>): ChildProcess {
  const PATH = process.env['PATH'] ?? ''
  return spawn(process.execPath, [cli, 'worker'], {
    env: { PATH, ...settings },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}
