import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Pool } from 'undici'
import { openUpstream, type Upstream } from '../../src/pipeline/upstream/client.ts'
import { transportDefaults } from '../../src/pipeline/upstream/http.ts'
import { openRateLimiter } from '../../src/pipeline/upstream/limits/rate-limiter.ts'
import { createInMemoryBudgetStore } from '../../src/pipeline/upstream/lone-upstream.ts'
import { createInMemoryTokenStore } from '../../src/pipeline/upstream/tokens/in-memory-token-store.ts'
import { openTransport } from '../../src/pipeline/upstream/transport.ts'
import { scores } from '../support/stream-by-name.ts'
import { type Measure, median, type RoundOptions, rounded } from './measure.ts'

type Rate = { perSecond: number; cpuMicros: number }

const recordsPerAnswer = 10
const path =
  '/api/v1/profile/score/somebody?startDateTime=2026-03-01T00:00:00.000Z&endDateTime=2026-03-08T00:00:00.000Z'
const window = { startMs: Date.parse('2026-03-01T00:00:00Z'), endMs: Date.parse('2026-03-08T00:00:00Z') }

/**
 * Our client beside bare undici, in alternating rounds of one run, at 1, 16 and 64 connections. Bare undici sends the
 * same requests and makes objects of the answers (`body.json()`); ours signs, keeps the budget, validates, and cuts out
 * each record's text besides. How bare undici fares that never looks at the answer is shown too, without a goal.
 */
export async function run({ quick, say }: RoundOptions): Promise<readonly Measure[]> {
  const server = await startServer()
  try {
    const measures: Measure[] = []
    for (const connections of [1, 16, 64]) {
      say(`  ${connections} connections`)
      measures.push(
        ...(await compare(server.url, { connections, rounds: quick ? 7 : 15, roundMs: quick ? 300 : 1000 })),
      )
    }
    return measures
  } finally {
    await server.close()
  }
}

type Rates = { bytes: Rate[]; bare: Rate[]; client: Rate[] }
type Plan = { connections: number; rounds: number; roundMs: number }

async function compare(url: string, plan: Plan): Promise<Measure[]> {
  const { connections } = plan
  const pool = new Pool(url, { connections, pipelining: 1, allowH2: false })
  const ours = openOurs(url, connections)
  const ask = () => pool.request({ method: 'GET', path, headers: { authorization: 'account canned' } })
  const bytes = async () => {
    const text = await (await ask()).body.text()
    if (text.length === 0) throw new Error('bench client: an empty answer')
  }
  const bare = async () => {
    const records = await (await ask()).body.json()
    if (!Array.isArray(records) || records.length !== recordsPerAnswer) throw new Error('bench client: no records')
  }
  const client = async () => {
    const { records } = await ours.upstream.read(
      scores,
      { profileId: '1', externalId: 'somebody', window },
      { lane: 'nightly' },
    )
    if (records.length !== recordsPerAnswer) throw new Error('bench client: records are missing')
  }
  const rates: Rates = { bytes: [], bare: [], client: [] }
  await measure(bytes, plan)
  await measure(bare, plan)
  await measure(client, plan)
  const turns = [
    async () => void rates.bytes.push(await measure(bytes, plan)),
    async () => void rates.bare.push(await measure(bare, plan)),
    async () => void rates.client.push(await measure(client, plan)),
  ]
  for (let round = 0; round < plan.rounds; round += 1) {
    // Each round begins with another one, so that a neighbour on the machine is nobody's alone.
    for (const turn of [...turns.slice(round % 3), ...turns.slice(0, round % 3)]) await turn()
  }
  await ours.close()
  await pool.close()
  return measuresOf(connections, rates)
}

function openOurs(url: string, connections: number): { upstream: Upstream; close(): Promise<void> } {
  const clock = Date.now
  const sleep = async (ms: number, signal?: AbortSignal) => void (await delay(ms, undefined, signal ? { signal } : {}))
  const limits = { requestsPerSecond: Number.POSITIVE_INFINITY, inFlight: 1024 }
  const budget = openRateLimiter({ store: createInMemoryBudgetStore(clock), limits, member: 'bench', clock, sleep })
  const upstream = openUpstream({
    url,
    credentials: { clientId: 'bench', clientSecret: 'bench' },
    tokenStore: createInMemoryTokenStore(clock),
    rateLimiter: budget,
    clock,
    random: Math.random,
    sleep,
    transport: openTransport(url, { ...transportDefaults, connectionsMax: connections }),
  })
  return {
    upstream,
    async close() {
      await upstream.close()
      await budget.close()
    },
  }
}

/** As many workers as there are connections, each with one request under way, for one round. */
async function measure(request: () => Promise<void>, { connections, roundMs }: Plan): Promise<Rate> {
  let done = 0
  const cpu = process.cpuUsage()
  const startedAtMs = performance.now()
  const worker = async () => {
    while (performance.now() - startedAtMs < roundMs) {
      await request()
      done += 1
    }
  }
  await Promise.all(Array.from({ length: connections }, worker))
  const seconds = (performance.now() - startedAtMs) / 1000
  const { user, system } = process.cpuUsage(cpu)
  return { perSecond: done / seconds, cpuMicros: (user + system) / done }
}

function measuresOf(connections: number, rates: Rates): Measure[] {
  const ratio = ratioOf(rates, ({ perSecond }) => perSecond)
  const against = `bare undici with JSON (${rateOf(rates.bare)} requests/s; unread ${rateOf(rates.bytes)})`
  const cpuAgainst = `bare undici with JSON (${cpuOf(rates.bare)} µs; unread ${cpuOf(rates.bytes)} µs)`
  return [
    {
      name: `client: requests at ${connections} connections`,
      value: rateOf(rates.client),
      unit: 'requests/s',
      ratio,
      against,
      goal: '≥ 0.7',
      holds: ratio >= 0.7,
    },
    {
      name: `client: CPU per request at ${connections} connections`,
      value: Number(cpuOf(rates.client)),
      unit: 'µs',
      ratio: ratioOf(rates, ({ cpuMicros }) => cpuMicros),
      against: cpuAgainst,
      goal: null,
      holds: null,
    },
  ]
}

/** The median of the rounds' own ratios: what slows a whole round down falls out of it. */
function ratioOf({ client, bare }: Rates, figure: (rate: Rate) => number): number {
  return rounded(median(client.map((rate, round) => figure(rate) / figure(bare[round] ?? rate))))
}

function rateOf(rates: readonly Rate[]): number {
  return Math.round(median(rates.map(({ perSecond }) => perSecond)))
}

function cpuOf(rates: readonly Rate[]): string {
  return median(rates.map(({ cpuMicros }) => cpuMicros)).toFixed(1)
}

async function startServer(): Promise<{ url: string; close(): Promise<void> }> {
  const child = spawn(
    process.execPath,
    [fileURLToPath(new URL('canned-server.ts', import.meta.url)), String(recordsPerAnswer)],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  const { value: url } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()
  if (typeof url !== 'string') throw new Error('bench client: the canned server did not start')
  return {
    url,
    async close() {
      const gone = once(child, 'exit')
      child.stdin.end()
      await gone
    },
  }
}
