import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readConfig } from '../../config/env.ts'
import { createLog } from '../../src/base/log.ts'
import { openMonitoring } from '../../src/operations/processes/start-monitoring.ts'
import { pulledNames, recordsPerProfile } from './canned.ts'
import { costPer, readCost, totalOf } from './cost.ts'
import { type Engines, endOf, startEngines } from './engines.ts'
import { alternate, type Measure, median, type RoundOptions, ratioOf, rounded, spreadOf } from './measure.ts'
import { fillWarehouse, jobsForAll, openSubject, people, settingsOf } from './subject.ts'
import { type FastUpstream, startFastUpstream } from './upstream.ts'

/** Prometheus scrapes every minute by default, and usually every fifteen seconds: this is harsher. */
const SCRAPE_EVERY_MS = 5000

/**
 * The cost of being seen: a cold pull with metrics that are scraped, and with every trace sent to a collector, beside the same pull
 * that nobody sees, in alternating rounds.
 */
export async function run({ quick, say }: RoundOptions): Promise<Measure[]> {
  const engines = await startEngines()
  const upstream = await startFastUpstream()
  const [collector, silent] = await Promise.all([startCollector('answers'), startCollector('silent')])
  const world: World = { engines, upstream, profiles: quick ? 300 : 1500, costs: new Map(), say }
  try {
    const scraped = { METRICS_PORT: '0' }
    const traced = (url: string) => ({ ...scraped, OTEL_EXPORTER_OTLP_ENDPOINT: url })
    const all = [
      contestant(world, nobody, {}),
      contestant(world, everything, traced(collector.url)),
      contestant(world, 'metrics', scraped),
      contestant(world, 'one trace in twenty', { ...traced(collector.url), OTEL_TRACES_SAMPLER_ARG: '0.05' }),
      contestant(world, 'a silent collector', traced(silent.url)),
    ]
    const contestants = quick ? all.slice(0, 2) : all
    for (const { measure } of all.slice(0, 2)) await measure() // code that runs all night is compiled
    world.costs.clear()
    const limits = quick ? { rounds: 9, secondsMax: 60 } : { rounds: 5 }
    const rates = await alternate(contestants, { ...limits, say })
    for (const [name, values] of rates) say(`  ${name.padEnd(28)} ${spreadOf(values)} records/s`)
    const named = contestants.map(({ name }) => name).filter((name) => name !== nobody)
    return named.flatMap((name) => measuresOf(name, rates, world.costs))
  } finally {
    await Promise.all([collector.close(), silent.close()])
    await upstream.close()
    await engines.close()
  }
}

const nobody = 'nobody looks'
const everything = 'metrics and every trace'
const GOAL = 0.93

type World = {
  readonly engines: Engines
  readonly upstream: FastUpstream
  readonly profiles: number
  /** Microseconds of processor time for each record, without upstream and collector. */
  readonly costs: Map<string, number[]>
  readonly say: (line: string) => void
}

async function startCollector(manner: 'answers' | 'silent') {
  const child = fork(new URL('./collector-process.ts', import.meta.url), [manner], { execArgv: [] })
  const [{ url }] = (await once(child, 'message')) as [{ url: string }]
  return { url, close: () => endOf(child) }
}

function contestant(world: World, name: string, watching: Readonly<Record<string, string>>) {
  return { name, measure: () => pull(world, name, watching) }
}

async function pull(world: World, name: string, watching: Readonly<Record<string, string>>): Promise<number> {
  const { engines, upstream, profiles, say } = world
  const databaseUrl = await engines.database()
  await fillWarehouse(databaseUrl, people(profiles))
  const queueUrl = engines.redisUrl ?? (await engines.database())
  const options = { databaseUrl, queueUrl, upstreamUrl: upstream.url, concurrency: jobsForAll, settings: watching }
  const log = createLog({ level: 'silent' })
  const monitoring = await openMonitoring(readConfig(settingsOf(options)), { name: 'bench', log })
  const subject = await openSubject(options)
  const watch = monitoring.watch(subject.pipeline)
  const { url } = monitoring
  const scrape = async () => void (await (await fetch(`${url}/metrics`)).text())
  const scraping = url === undefined ? undefined : setInterval(() => void scrape(), SCRAPE_EVERY_MS)
  await engines.settle()
  const before = readCost()
  const { run: done, seconds } = await subject.run('sync', { streams: pulledNames })
  const after = readCost()
  clearInterval(scraping)
  if (done.rowsWritten !== profiles * recordsPerProfile) throw new Error(`measure monitoring: ${done.rowsWritten} rows`)
  say(`      ${costPer(before, after, done.rowsRead)}`)
  world.costs.set(name, [...(world.costs.get(name) ?? []), totalOf(before, after) / done.rowsRead])
  await watch.close()
  await subject.close()
  await monitoring.close()
  await engines.drop(databaseUrl)
  return done.rowsRead / seconds
}

function measuresOf(name: string, rates: Map<string, number[]>, costs: Map<string, number[]>): Measure[] {
  const goal = name === everything ? GOAL : null
  const measure = (of: string, figures: Map<string, number[]>, unit: string, ratio: number): Measure => ({
    name: `cold pull, ${name}: ${of}`,
    value: rounded(median(figures.get(name) ?? [])),
    unit,
    ratio: rounded(ratio, 1),
    against: nobody,
    goal: goal === null ? null : `≥ ${goal}`,
    holds: goal === null ? null : ratio >= goal,
  })
  return [
    measure('rate', rates, 'records/s', ratioOf(rates, name, nobody)),
    // Turned round, so that less than 1 is dearer, as with the rate.
    measure('processor time', costs, 'µs/record', ratioOf(costs, nobody, name)),
  ]
}
