import { readdir } from 'node:fs/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { firstDay, pulledNames } from './canned.ts'
import { startEngines } from './engines.ts'
import { type Measure, median, type RoundOptions, rounded } from './measure.ts'
import { writePlot } from './plot.ts'
import { fillWarehouse, openSubject, people } from './subject.ts'
import { startFastUpstream } from './upstream.ts'

const profiles = 300
const requestsPerSecond = 200

type Sample = { second: number; rss: number; heap: number; files: number; delayP99: number }

/**
 * Steady state for half an hour: everybody is read again and again at a third of what the machine could do, every second
 * time with changes. Memory, event loop and open files must stay where they were after the warm-up.
 */
export async function run({ quick, say }: RoundOptions): Promise<Measure[]> {
  const seconds = quick ? 120 : 1800
  const engines = await startEngines()
  const upstream = await startFastUpstream()
  try {
    const databaseUrl = await engines.database()
    const queueUrl = engines.redisUrl ?? (await engines.database())
    await fillWarehouse(databaseUrl, people(profiles))
    const settings = { BUDGET_PER_SECOND: String(requestsPerSecond), CONCURRENCY: '16' }
    const subject = await openSubject({ databaseUrl, queueUrl, upstreamUrl: upstream.url, inFlight: 16, settings })
    await subject.run('sync', { streams: pulledNames })
    const watching = watch(seconds)
    let passes = 0
    while (!watching.over()) {
      await upstream.set({ changed: passes % 2 === 0 })
      const range = { from: firstDay(Date.now()), to: Date.now() }
      await subject.run('backfill', { ...range, streams: pulledNames, again: true })
      passes += 1
    }
    const samples = await watching.samples
    await subject.close()
    say(`  ${seconds} s, ${passes} passes over ${profiles} profiles at ${requestsPerSecond} requests/s`)
    if (!quick) await plot(samples)
    return measuresOf(samples, say)
  } finally {
    await upstream.close()
    await engines.close()
  }
}

function watch(seconds: number): { over(): boolean; samples: Promise<Sample[]> } {
  const endAt = performance.now() + seconds * 1000
  const look = async () => {
    const samples: Sample[] = []
    const delay = monitorEventLoopDelay({ resolution: 10 })
    delay.enable()
    for (let second = 0; performance.now() < endAt; second++) {
      await wait(1000)
      const { rss, heapUsed } = process.memoryUsage()
      const files = process.platform === 'linux' ? (await readdir('/proc/self/fd')).length : 0
      const [rssMb, heapMb] = [rss / 2 ** 20, heapUsed / 2 ** 20]
      samples.push({ second, rss: rssMb, heap: heapMb, files, delayP99: delay.percentile(99) / 1e6 })
      delay.reset()
    }
    return samples
  }
  return { over: () => performance.now() >= endAt, samples: look() }
}

function measuresOf(all: readonly Sample[], say: (line: string) => void): Measure[] {
  const warm = all.slice(Math.floor(all.length / 4))
  const parts = 6
  const size = Math.floor(warm.length / parts)
  const partsOf = (pick: (sample: Sample) => number) =>
    Array.from({ length: parts }, (_, part) => median(warm.slice(part * size, (part + 1) * size).map(pick)))
  const resident = partsOf((sample) => sample.rss)
  say(`  resident memory by sixths after warm-up: ${resident.map((mb) => mb.toFixed(0)).join(', ')} MB`)
  say(
    `  heap in use: ${partsOf((sample) => sample.heap)
      .map((mb) => mb.toFixed(0))
      .join(', ')} MB`,
  )
  const middle = median(resident)
  const drift = Math.max(...resident.map((mb) => Math.abs(mb / middle - 1)))
  const delay = median(warm.map((sample) => sample.delayP99))
  const files = Math.max(...warm.map((sample) => sample.files)) / (warm[0]?.files || 1)
  return [
    {
      name: 'soak: resident memory after warm-up',
      value: rounded(middle),
      unit: 'MB',
      ratio: rounded(1 + drift),
      against: 'its median',
      goal: '± 5 %',
      holds: drift <= 0.05,
    },
    {
      name: 'soak: p99 event-loop delay',
      value: rounded(delay),
      unit: 'ms',
      ratio: null,
      against: null,
      goal: '< 50 ms',
      holds: delay < 50,
    },
    {
      name: 'soak: open files',
      value: Math.max(...warm.map((sample) => sample.files)),
      unit: 'files',
      ratio: rounded(files),
      against: 'after warm-up',
      goal: null,
      holds: null,
    },
  ]
}

async function plot(samples: readonly Sample[]): Promise<void> {
  const every = samples.filter((_, index) => index % 10 === 0)
  await writePlot('soak.svg', {
    title: 'Half an hour at steady state: memory in MB',
    x: { label: 'minutes', values: every.map((sample) => sample.second / 60) },
    lines: [
      { label: 'resident', values: every.map((sample) => sample.rss) },
      { label: 'heap in use', values: every.map((sample) => sample.heap) },
    ],
  })
}
