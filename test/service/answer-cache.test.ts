import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect } from 'vitest'
import { soon, test as withDatabase } from '../support/fixtures.ts'
import { entry } from '../support/run-program.ts'
import {
  call,
  type RegisteredProfile,
  registerProfile,
  type ServiceInternals,
  type ServiceWorld,
  test,
  withService,
} from './service-world.ts'

const MB = 1024 * 1024
const start = Date.parse('2026-07-01T00:00:00Z')

/** Scores of this many days, each `bytes` long or a little more, of version 1. */
async function given(
  { sql }: ServiceInternals,
  person: RegisteredProfile,
  { days, bytes }: { days: number; bytes: number },
): Promise<void> {
  const name = 'x'.repeat(bytes)
  const factors = [{ id: randomUUID(), name, value: 1, goal: 1, score: 1, state: 'high', unit: 'count' }]
  await sql.query(
    `insert into service.derived (profile_id, id, kind, name, period_start, period_end, created_at, changed_at, body)
     select profile_id, gen_random_uuid(), 'score', 'sleep', day, day + interval '23 hours', now(), now(), $4
     from service.profiles, generate_series($2::timestamptz, $2::timestamptz + ($3 - 1) * interval '1 day', '1 day') as day
     where external_id = $1`,
    [
      person.externalId,
      new Date(start),
      days,
      JSON.stringify({
        id: randomUUID(),
        type: 'sleep',
        value: 0,
        state: 'low',
        createdAt: '2026-07-12T00:00:00Z',
        factors,
        scoreDateTime: '2026-07-11T00:00:00+00:00',
        dataSources: [],
        version: 1,
      }),
    ],
  )
}

async function gauge(url: string, name: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(new RegExp(`^vitalsync_service_${name} (\\S+)$`, 'm').exec(text)?.[1])
}

const keptBytes = (world: ServiceWorld) => gauge(world.url, 'kept_answer_bytes')

test('an answer is cached once for profile and account, and sent again byte for byte', async ({ world, inside }) => {
  const person = await registerProfile(world)
  await inside.sql.query('select 1')
  await given(inside, person, { days: 30, bytes: 1000 })
  const askScores = () => call(world, '/api/v1/profile/score', { auth: person.auth })
  const ofAccount = () => call(world, `/api/v1/profile/score/${person.externalId}`, { auth: person.account })

  const before = await keptBytes(world)
  const first = await askScores()
  const kept = (await keptBytes(world)) - before
  const others = [await ofAccount(), await askScores(), await ofAccount()]

  expect(kept).toBeGreaterThan(first.text.length)
  expect(kept).toBeLessThan(first.text.length + 2000)
  expect((await keptBytes(world)) - before).toBe(kept)
  for (const other of others) expect(other.text).toBe(first.text)
  expect(first.json).toHaveLength(30)
})

test('a read never answers records older than a change that was committed before the read', async ({
  world,
  inside,
}) => {
  const person = await registerProfile(world)
  await given(inside, person, { days: 3, bytes: 10 })
  const forms = [
    { path: '/api/v1/profile/score', auth: person.auth },
    { path: `/api/v1/profile/score/${person.externalId}`, auth: person.account },
  ]
  let written = 1
  let reads = 0
  const reader = async (_: unknown, number: number) => {
    while (written < 60) {
      const least = written
      const { path, auth } = forms[number % 2] ?? { path: '', auth: '' }
      const { json } = await call(world, path, { auth })
      const versions = json.map(({ version }: { version: number }) => version)
      expect(Math.min(...versions)).toBeGreaterThanOrEqual(least)
      expect(new Set(versions).size).toBe(1) // all of it is of one moment
      reads += 1
    }
  }
  const writer = async () => {
    while (written < 60) {
      await inside.sql.query(
        `update service.derived set body = jsonb_set(body::jsonb, '{version}', to_jsonb($2::int))::text
         where profile_id in (select profile_id from service.profiles where external_id = $1)`,
        [person.externalId, written + 1],
      )
      written += 1
      const before = reads
      await expect.poll(() => reads, { ...soon, interval: 1 }).toBeGreaterThan(before)
    }
  }

  await Promise.all([writer(), ...Array.from({ length: 8 }, reader)])

  expect(reads).toBeGreaterThanOrEqual(59)
})

/** Starts the program in a process of its own, whose memory can be measured alone. */
async function startProgram(databaseUrl: string, keptMb: number): Promise<{ child: ChildProcess; url: string }> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    DATABASE_URL: databaseUrl,
    PORT: '0',
    LOG_LEVEL: 'error',
    KEPT_ANSWERS_MB: String(keptMb),
  }
  const words = [entry, 'service', '--json', '--no-migrate', '--host', '127.0.0.1']
  const child = spawn(process.execPath, words, {
    cwd: new URL('../../', import.meta.url),
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const { value: line } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()
  return { child, url: JSON.parse(String(line)).url }
}

/** A profile with `days` of scores; its token is issued by the real clock, by which the program checks it. */
const personWith = (databaseUrl: string, many: { days: number; bytes: number }): Promise<RegisteredProfile> =>
  withService(databaseUrl, {}, async (world) => {
    const person = await registerProfile(world)
    if (world.inside) await given(world.inside, person, many)
    return person
  })

withDatabase('the cache stays within its limit, however many answers are read', async ({ serviceUrl }) => {
  const person = await personWith(serviceUrl, { days: 200, bytes: 1000 })
  const { child, url } = await startProgram(serviceUrl, 8)
  try {
    let asked = 0
    const read = async (count: number) => {
      const end = asked + count
      const reader = async () => {
        while (asked < end) {
          asked += 1
          const query = `startDateTime=${new Date(start + asked).toISOString()}` // another question, the same answer
          const answer = await fetch(`${url}/api/v1/profile/score?${query}`, {
            headers: { authorization: person.auth },
          })
          expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(200_000)
        }
      }
      await Promise.all(Array.from({ length: 8 }, reader))
    }
    await read(100)
    const before = await gauge(url, 'process_resident_memory_bytes')

    await read(500)

    const kept = await gauge(url, 'kept_answer_bytes')
    expect(kept).toBeGreaterThan(7 * MB)
    expect(kept).toBeLessThanOrEqual(8 * MB)
    expect((await gauge(url, 'process_resident_memory_bytes')) - before).toBeLessThan(100 * MB)
  } finally {
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
})
