import { measureBareRequests } from './bare-requests.ts'
import { firstDay, pulledNames } from './canned.ts'
import { startEngines } from './engines.ts'
import { type Measure, median, type RoundOptions, rounded, spreadOf } from './measure.ts'
import { fillWarehouse, openSubject, people, type Subject } from './subject.ts'
import { pathOf } from './tables.ts'
import { type FastUpstream, startFastUpstream } from './upstream.ts'

/**
 * An upstream that takes its time: 50 ms with as many requests in flight as a processor can follow, and 250 ms. At most
 * requests in flight ÷ latency can be had; how near does a run come, its start and its end included? Beside it bare requests, as many
 * in flight: upstream's own timers are late too.
 */
export async function run({ quick, say }: RoundOptions): Promise<Measure[]> {
  const engines = await startEngines()
  const upstream = await startFastUpstream()
  const measures: Measure[] = []
  try {
    for (const { latencyMs, inFlight, goals } of [
      { latencyMs: 50, inFlight: 16, goals: { atMost: 0.8, bare: 0.85 } },
      { latencyMs: 250, inFlight: 64, goals: { atMost: 0.84, bare: 0.84 } },
    ]) {
      const atMost = (inFlight * 1000) / latencyMs
      const profiles = Math.ceil((atMost * (quick ? 8 : 30)) / pulledNames.length)
      const rates: number[] = []
      const bare: number[] = []
      for (let round = 0; round < (quick ? 1 : 3); round++) {
        const databaseUrl = await engines.database()
        const queueUrl = engines.redisUrl ?? (await engines.database())
        await fillWarehouse(databaseUrl, people(profiles))
        await engines.settle() // the fleet's memory of how fast upstream was, too
        const subject = await openSubject({ databaseUrl, queueUrl, upstreamUrl: upstream.url, inFlight })
        await upstream.set({ latencyMs })
        bare.push(await bareRate(upstream, { inFlight, requests: atMost * 5 }))
        const permits = watchPermits(subject.pipeline, inFlight)
        const { run: done, seconds } = await subject.run('sync', { streams: pulledNames })
        const { inFlightMax } = await upstream.set({ latencyMs: 0 })
        rates.push(done.requests / seconds)
        say(
          `    ${latencyMs} ms, ${inFlight} in flight: ${Math.round(done.requests / seconds)} of ${atMost} requests/s (${inFlightMax} seen at once; ${permits.shares()})`,
        )
        await subject.close()
        await engines.drop(databaseUrl)
      }
      say(`  ${latencyMs} ms: ${spreadOf(rates)} requests/s, bare ${spreadOf(bare)}`)
      const beside = (against: string, most: number, goal: number): Measure => {
        const ratio = rounded(median(rates) / most)
        const name = `pull, ${latencyMs} ms upstream`
        const value = rounded(median(rates))
        return { name, value, unit: 'requests/s', ratio, against, goal: `≥ ${goal}`, holds: ratio >= goal }
      }
      measures.push(
        beside(`${inFlight} in flight ÷ ${latencyMs} ms`, atMost, goals.atMost),
        beside('bare requests', median(bare), goals.bare),
      )
    }
    return measures
  } finally {
    await upstream.close()
    await engines.close()
  }
}

function bareRate(upstream: FastUpstream, { inFlight, requests }: { inFlight: number; requests: number }) {
  const window = { startAt: new Date(firstDay(Date.now())).toISOString(), endAt: new Date().toISOString() }
  const headers = { authorization: 'account account-token' }
  return measureBareRequests(upstream.url, {
    inFlight,
    requests,
    async send(http) {
      const answer = await http.request({ method: 'GET', path: pathOf('scores', 'person-1', window), headers })
      await answer.body.arrayBuffer()
    },
  })
}

/** How much of the permits' time requests were under way, and why not else: no request waited, or one waited though permits were idle. */
function watchPermits({ rateLimiter }: Subject['pipeline'], inFlightMax: number): { shares(): string } {
  const sums = { 'in use': 0, 'idle, nobody waits': 0, 'idle, somebody waits': 0 }
  const timer = setInterval(() => {
    const { inFlight, waiting } = rateLimiter.state()
    sums['in use'] += inFlight
    const isWanted = Object.values(waiting).some((count) => count > 0)
    sums[isWanted ? 'idle, somebody waits' : 'idle, nobody waits'] += inFlightMax - inFlight
  }, 5)
  return {
    shares() {
      clearInterval(timer)
      const all = Object.values(sums).reduce((total, sum) => total + sum, 0)
      const parts = Object.entries(sums).map(([name, sum]) => `${name} ${(sum / all).toFixed(3)}`)
      return `permits ${parts.join(', ')}`
    },
  }
}
