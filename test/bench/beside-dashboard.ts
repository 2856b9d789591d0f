import { fork } from 'node:child_process'
import { once } from 'node:events'
import { pulledNames, recordsPerProfile } from './canned.ts'
import { costPer, readCost } from './cost.ts'
import { startDashboardProcess } from './dashboard-process.ts'
import { type Engines, endOf, startEngines } from './engines.ts'
import { alternate, type Measure, median, type RoundOptions, ratioOf, rounded, spreadOf } from './measure.ts'
import { fillWarehouse, jobsForAll, openSubject, people, settingsOf } from './subject.ts'
import { type FastUpstream, startFastUpstream } from './upstream.ts'

const ALONE = 'nobody looks'
const BESIDE = 'beside an open dashboard'
const GOAL = 0.95

type World = { engines: Engines; upstream: FastUpstream; profiles: number; say: (line: string) => void }

/** A cold pull while nobody looks, and beside a dashboard whose first screen and coverage map are open, in alternating rounds. */
export async function run({ quick, say }: RoundOptions): Promise<Measure[]> {
  const engines = await startEngines()
  const upstream = await startFastUpstream()
  const world = { engines, upstream, profiles: quick ? 300 : 2000, say }
  try {
    say(`  ${engines.versions}`)
    const contestants = [
      { name: ALONE, measure: () => inPlace(world, (place) => pull(world, place)) },
      { name: BESIDE, measure: () => inPlace(world, (place) => pullBeside(world, place)) },
    ]
    const silent = { ...world, say: () => undefined }
    await inPlace(silent, (place) => pull(silent, place)) // warms the process up, not counted
    const limits = quick ? { rounds: 5, secondsMax: 90 } : { rounds: 7 }
    const rates = await alternate(contestants, { ...limits, say })
    for (const [name, values] of rates) say(`  ${name.padEnd(28)} ${spreadOf(values)} records/s`)
    const ratio = rounded(ratioOf(rates, BESIDE, ALONE))
    const value = rounded(median(rates.get(BESIDE) ?? []))
    const goal = { goal: `≥ ${GOAL}`, holds: ratio >= GOAL }
    return [{ name: 'cold pull beside an open dashboard', value, unit: 'records/s', ratio, against: ALONE, ...goal }]
  } finally {
    await upstream.close()
    await engines.close()
  }
}

type Place = { readonly databaseUrl: string; readonly queueUrl: string; readonly upstreamUrl: string }

async function inPlace(world: World, measure: (place: Place) => Promise<number>): Promise<number> {
  const { engines, upstream, profiles } = world
  const databaseUrl = await engines.database()
  await fillWarehouse(databaseUrl, people(profiles))
  await engines.settle()
  const queueUrl = engines.redisUrl ?? (await engines.database())
  const rate = await measure({ databaseUrl, queueUrl, upstreamUrl: upstream.url })
  await engines.drop(databaseUrl)
  return rate
}

async function pull({ profiles, say }: World, place: Place): Promise<number> {
  const subject = await openSubject({ ...place, concurrency: jobsForAll })
  const before = readCost()
  const { seconds } = await subject.run('sync', { streams: pulledNames })
  const records = profiles * recordsPerProfile
  say(`    ${costPer(before, readCost(), records)}`)
  await subject.close()
  return records / seconds
}

async function pullBeside(world: World, place: Place): Promise<number> {
  const dashboard = await startDashboardProcess(settingsOf(place))
  const visitor = fork(new URL('./dashboard-visitor.ts', import.meta.url), [dashboard.url], { execArgv: [] })
  await once(visitor, 'message')
  try {
    return await pull(world, place)
  } finally {
    await endOf(visitor)
    await dashboard.close()
  }
}
