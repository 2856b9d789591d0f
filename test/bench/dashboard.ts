import { fork } from 'node:child_process'
import { once } from 'node:events'
import { openSession, send } from '../browser/send.ts'
import { startDashboardProcess } from './dashboard-process.ts'
import { startEngines } from './engines.ts'
import { fillLedger, ledgerDays } from './full-ledger.ts'
import { type Measure, median, type RoundOptions, rounded, type ScreensMessage, spreadOf } from './measure.ts'
import { settingsOf } from './subject.ts'
import { startFastUpstream } from './upstream.ts'

/** The dashboard beside a ledger of 100,000 people × 90 days × 8 streams: its answers, and its pages in a browser without a screen. */
export async function run({ quick, say }: RoundOptions): Promise<Measure[]> {
  const engines = await startEngines()
  const upstream = await startFastUpstream()
  try {
    const people = quick ? 10_000 : 100_000
    const databaseUrl = await engines.database()
    const startedAt = performance.now()
    await fillLedger(databaseUrl, people)
    say(`  ${engines.versions}`)
    say(
      `  ${people} people × ${ledgerDays} days × 8 streams filled in ${Math.round((performance.now() - startedAt) / 1000)} s`,
    )
    const queueUrl = engines.redisUrl ?? (await engines.database())
    const dashboard = await startDashboardProcess(settingsOf({ databaseUrl, queueUrl, upstreamUrl: upstream.url }))
    const world = { url: dashboard.url, people, say }
    try {
      return [...(await measureAnswers(world)), ...(await measureScreens(world))]
    } finally {
      await dashboard.close()
    }
  } finally {
    await upstream.close()
    await engines.close()
  }
}

type World = { readonly url: string; readonly people: number; say(line: string): void }

/** In a process of its own, which holds the browser. */
async function measureScreens({ url, people, say }: World): Promise<readonly Measure[]> {
  const child = fork(new URL('../browser/measure-screens.ts', import.meta.url), [url, String(people)], { execArgv: [] })
  let measures: readonly Measure[] = []
  child.on('message', (message: ScreensMessage) => {
    if (message.said) say(message.said)
    measures = message.measures ?? measures
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) say('  the pages could not be measured: is Chromium installed?')
  return measures
}

const ROUNDS = 15

/** Answers over HTTP, each question with another person or another order, so that none is remembered. */
async function measureAnswers({ url, people, say }: World): Promise<Measure[]> {
  const today = new Date().toISOString().slice(0, 10)
  const map = (query: string) => `coverage?lastDay=${today}&days=90&from=0&count=100&${query}`
  const streams = ['scores', 'biomarkers', 'archetypes', 'trends', 'comparisons', 'tags', 'demographics']
  const someone = (round: number) => 1 + 100 * ((round * 37) % (people / 100))
  const questions: Array<readonly [string, number, (round: number) => string]> = [
    ['now', 100, () => 'now'],
    ['person', 200, (round) => `person?profileId=${someone(round)}`],
    [
      'coverage, first rows in a new order',
      1000,
      (round) => map(`stream=${streams[round % streams.length]}&search=${'p'.repeat(+(round >= streams.length))}`),
    ],
    [
      'coverage, rows from the middle',
      200,
      (round) => map(`stream=scores&sort=worst`).replace('from=0', `from=${people / 2 + round * 100}`),
    ],
    [
      'coverage, a year',
      1000,
      (round) =>
        map(`stream=scores`)
          .replace('days=90', 'days=365')
          .replace('from=0', `from=${round * 100}`),
    ],
    ['people by name', 200, (round) => `people?search=person-0${round}`],
    ['failures by cause', 200, () => 'failure-groups'],
    ['runs', 200, () => 'runs'],
    ['quarantine by cause', 200, () => 'quarantine-groups'],
    ['silent people', 500, () => 'silent'],
    ['groups of silent people', 500, () => 'silence-groups'],
  ]
  const measures: Measure[] = []
  const session = await openSession(url)
  for (const [name, goalMs, pathOf] of questions) {
    const took: number[] = []
    for (let round = 0; round < ROUNDS; round++) took.push(await timeOf(session, `${url}/api/${pathOf(round)}`))
    say(`  ${name.padEnd(36)} ${spreadOf(took)} ms`)
    measures.push(measureOf(`dashboard answers ${name}`, median(took), goalMs))
  }
  return measures
}

async function timeOf(session: Awaited<ReturnType<typeof openSession>>, address: string): Promise<number> {
  const { origin, pathname, searchParams } = new URL(address)
  const startedAt = performance.now()
  const question = JSON.stringify(Object.fromEntries(searchParams))
  const { status, body } = await send(origin + pathname, { ...session, body: question })
  if (status !== 200) throw new Error(`ask ${address}: ${status} ${body}`)
  return performance.now() - startedAt
}

const measureOf = (name: string, ms: number, goalMs: number): Measure => ({
  name,
  value: rounded(ms),
  unit: 'ms',
  ratio: null,
  against: null,
  goal: `< ${goalMs} ms`,
  holds: ms < goalMs,
})
