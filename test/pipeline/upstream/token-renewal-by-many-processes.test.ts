import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished } from 'vitest'
import { openWarehousePool } from '../../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { createPostgresTokenStore } from '../../../src/pipeline/warehouse/tokens/token-store.ts'
import { test } from '../../support/fixtures.ts'
import { insertPeople } from '../../support/insert-people.ts'
import { json, type ProfileStub, startProfileStub } from '../../support/profile-stub.ts'
import { demographics, scores } from '../../support/stream-by-name.ts'
import { testDivision } from '../../support/test-pool.ts'
import { ada, nightlyCall, openTestUpstream } from '../../support/test-upstream.ts'

const child = fileURLToPath(new URL('../../support/storm-child.ts', import.meta.url))
const key = randomBytes(32)
const tokenPath = 'oauth/account/token'

type Worker = { run(calls: number): Promise<string[]>; process: ChildProcess; lines: AsyncIterator<string> }

async function startWorker(url: string, databaseUrl: string): Promise<Worker> {
  const worker = spawn(process.execPath, [child, url, databaseUrl, key.toString('hex')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: worker.stdout })[Symbol.asyncIterator]()
  onTestFinished(async () => {
    const gone = worker.exitCode === null && worker.signalCode === null ? once(worker, 'exit') : undefined
    worker.kill('SIGKILL')
    await gone
  })
  expect((await lines.next()).value).toBe('ready')
  return {
    process: worker,
    lines,
    async run(calls) {
      worker.stdin.write(`${calls}\n`)
      return JSON.parse((await lines.next()).value ?? '[]')
    },
  }
}

async function startStub(): Promise<ProfileStub> {
  const stub = await startProfileStub()
  onTestFinished(() => stub.close())
  return stub
}

test('200 calls in 3 processes meet one dead token: one token call, no failure', async ({ warehouseUrl }) => {
  const stub = await startStub()
  const workers = await Promise.all([1, 2, 3].map(() => startWorker(stub.url, warehouseUrl)))
  for (const worker of workers) expect(await worker.run(1)).toEqual(['done'])
  expect(stub.calls(tokenPath)).toBe(1)
  stub.revokeAll()

  const outcomes = await Promise.all([67, 67, 66].map((calls, index) => workers[index]?.run(calls)))

  expect(outcomes.flat().filter((outcome) => outcome !== 'done')).toEqual([])
  expect(outcomes.flat()).toHaveLength(200)
  expect(stub.calls(tokenPath)).toBe(2)
})

test('3 processes that start with nothing ask for one token', async ({ warehouseUrl }) => {
  const stub = await startStub()
  const workers = await Promise.all([1, 2, 3].map(() => startWorker(stub.url, warehouseUrl)))

  const outcomes = await Promise.all(workers.map((worker) => worker.run(50)))

  expect(new Set(outcomes.flat())).toEqual(new Set(['done']))
  expect(stub.calls(tokenPath)).toBe(1)
})

test('a process killed while renewing holds nobody up for longer than its lease', async ({ warehouseUrl }) => {
  const stub = await startStub()
  const { promise: asked, resolve: onAsked } = Promise.withResolvers<void>()
  stub.before = async ({ path }) => {
    if (!path.endsWith(tokenPath)) return undefined
    onAsked()
    await asked
    return stub.calls(tokenPath) === 1 ? new Promise(() => undefined) : undefined
  }
  const victim = await startWorker(stub.url, warehouseUrl)
  victim.process.stdin?.write('5\n')
  await asked
  victim.process.kill('SIGKILL')
  const pool = openWarehousePool({
    databaseUrl: warehouseUrl,
    division: testDivision,
    connectionsMax: 2,
    name: 'test',
  })
  onTestFinished(() => pool.end())
  // The lease is let run out by hand: nothing but time would end it.
  await pool.query(`update vitalsync.tokens set lease_until = clock_timestamp()`)

  const survivor = await startWorker(stub.url, warehouseUrl)

  expect(new Set(await survivor.run(20))).toEqual(new Set(['done']))
  expect(stub.calls(tokenPath)).toBe(2)
})

test('a halted account halts every process, and none of them asks on', async ({ warehouseUrl }) => {
  const stub = await startStub()
  const workers = await Promise.all([1, 2, 3].map(() => startWorker(stub.url, warehouseUrl)))
  stub.refuseAll(true)

  const outcomes = (await Promise.all(workers.map((worker) => worker.run(30)))).flat()

  expect(outcomes.every((outcome) => outcome.startsWith('Halted: account halted'))).toBe(true)
  expect(stub.calls(tokenPath)).toBe(2)
  const calls = stub.seen.length
  await Promise.all(workers.map((worker) => worker.run(30)))
  expect(stub.seen.length).toBe(calls)
})

test('tokens lie sealed, and open only in their own row with their own key', async ({ warehouseUrl }) => {
  const stub = await startStub()
  const pool = openWarehousePool({
    databaseUrl: warehouseUrl,
    division: testDivision,
    connectionsMax: 4,
    name: 'test',
  })
  const tokenStore = createPostgresTokenStore({ pool, keys: [key] })
  const { upstream, close } = openTestUpstream({ url: stub.url, tokenStore })
  onTestFinished(async () => {
    await close()
    await pool.end()
  })
  stub.profiles.add('ada').add('bob')
  await insertPeople(pool, ['ada', 'bob'])
  await upstream.read(demographics, ada, nightlyCall)
  await upstream.read(demographics, { profileId: '2', externalId: 'bob' }, nightlyCall)
  const { rows } = await pool.query<{ account: string }>('select account from vitalsync.tokens limit 1')
  const account = rows[0]?.account ?? ''

  expect((await tokenStore.read({ account, profileId: '1' })).token).toBeDefined()
  expect(
    (await createPostgresTokenStore({ pool, keys: [randomBytes(32)] }).read({ account, profileId: '1' })).token,
  ).toBeUndefined()

  const sealed = '(select sealed from vitalsync.tokens where profile_id = 1)'
  await pool.query(`update vitalsync.tokens set sealed = ${sealed} where profile_id = 2`)
  expect((await tokenStore.read({ account, profileId: '2' })).token).toBeUndefined()

  await pool.query('update vitalsync.tokens set generation = generation + 1 where profile_id = 1')
  expect((await tokenStore.read({ account, profileId: '1' })).token).toBeUndefined()
})

test('a token that no longer opens is renewed, not an error', async ({ warehouseUrl }) => {
  const stub = await startStub()
  const pool = openWarehousePool({
    databaseUrl: warehouseUrl,
    division: testDivision,
    connectionsMax: 4,
    name: 'test',
  })
  const before = openTestUpstream({ url: stub.url, tokenStore: createPostgresTokenStore({ pool, keys: [key] }) })
  await before.upstream.read(scores, ada, nightlyCall)
  const after = openTestUpstream({
    url: stub.url,
    tokenStore: createPostgresTokenStore({ pool, keys: [randomBytes(32)] }),
  })
  onTestFinished(async () => {
    await before.close()
    await after.close()
    await pool.end()
  })

  expect((await after.upstream.read(scores, ada, nightlyCall)).records).toEqual([])
  expect(stub.calls(tokenPath)).toBe(2)
})

test('the token of an erased profile does not come back', async ({ warehouseUrl }) => {
  const stub = await startStub()
  const pool = openWarehousePool({
    databaseUrl: warehouseUrl,
    division: testDivision,
    connectionsMax: 4,
    name: 'test',
  })
  const { upstream, close } = openTestUpstream({
    url: stub.url,
    tokenStore: createPostgresTokenStore({ pool, keys: [key] }),
  })
  onTestFinished(async () => {
    await close()
    await pool.end()
  })
  stub.profiles.add('ada')
  await insertPeople(pool, ['ada'])
  stub.before = async ({ path }) => {
    // In the middle of the token call the profile is erased here.
    if (path.endsWith('oauth/profile/token')) await pool.query('delete from vitalsync.names')
    return path.endsWith('nothing') ? json(204, {}) : undefined
  }

  await expect(upstream.read(demographics, ada, nightlyCall)).rejects.toThrow('renew token')
  await expect(upstream.read(demographics, ada, nightlyCall)).rejects.toThrow('the profile was erased here')

  const { rows } = await pool.query('select 1 from vitalsync.tokens where profile_id is not null')
  expect(rows).toEqual([])
})
