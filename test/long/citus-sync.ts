import { rm } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import type { CitusCluster } from '../support/citus-cluster.ts'
import type { Checklist } from './checklist.ts'
import { digestOfRecords, gapsOf } from './record-digests.ts'
import type { SandboxWarehouses, SyncedWarehouse } from './synced-warehouses.ts'

export type ClusterRound = {
  readonly cluster: CitusCluster
  readonly shards: number
  readonly sandbox: SandboxWarehouses
  readonly checklist: Checklist
}

/** Says what a command printed when it did not end with exit code 0. */
export async function expectDone(
  { say, until }: Checklist,
  warehouse: SyncedWarehouse,
  ...words: string[]
): Promise<void> {
  const { code, stderr } = await warehouse.command(...words)
  await until(`${warehouse.name}: ${words.join(' ')}`, async () => code === 0, 0)
  if (code !== 0) say(stderr.slice(-2000))
}

/** Syncs until nothing more comes: the sandbox derives its sample people while they are first asked for. */
export async function syncUntilStill(checklist: Checklist, warehouse: SyncedWarehouse): Promise<void> {
  let before = ''
  for (let digest = await digestOfRecords(warehouse); digest !== before; digest = await digestOfRecords(warehouse)) {
    before = digest
    await expectDone(checklist, warehouse, 'sync')
  }
}

export const divide = (shards: number): string[] => ['migrate', '--distribute', '--shards', String(shards)]

/** Syncs, reads again, verifies, exports and erases on both, and compares; then loses a node and adds one. */
export async function syncBoth({ cluster, shards, sandbox, checklist }: ClusterRound): Promise<void> {
  const plain = await sandbox.open('plain', { url: await sandbox.createDatabase('plain'), shards: 1 })
  const citus = await sandbox.open('citus', { url: cluster.databaseUrl, shards })
  for (const warehouse of [plain, citus]) {
    const done = (...words: string[]) => expectDone(checklist, warehouse, ...words)
    if (warehouse === citus) {
      for (let times = 0; times < 2; times++) await done(...divide(shards))
      await checklist.until('no node compiles what it answers in a moment', () => isInterpreted(citus))
    }
    await done('migrate')
    await done('profiles', 'discover')
    await syncUntilStill(checklist, warehouse)
    await done('status', '--json')
    await done('verify', '--json')
    await done('export', '--stream', 'scores', '--output', `${sandbox.folder}/${warehouse.name}.csv`)
    await rm(`${sandbox.folder}/${warehouse.name}.csv`, { force: true })
  }
  await compare(checklist, 'the same records', digestOfRecords, plain, citus)
  await compare(checklist, 'the same gaps', gapsOf, plain, citus)
  const person = await firstPersonOf(plain)
  for (const warehouse of [plain, citus])
    await expectDone(checklist, warehouse, 'profiles', 'erase', person, '--yes', '--json')
  await compare(checklist, 'the same records after one person was erased', digestOfRecords, plain, citus)
  await loseAndGrow(cluster, citus, checklist)
}

async function isInterpreted({ databaseUrl }: SyncedWarehouse): Promise<boolean> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const { rows } = await client.query(`select result from run_command_on_all_nodes('show jit')`)
  await client.end()
  return rows.every(({ result }) => result === 'off')
}

/** A node that is away is named, and people of others are synced by name; one that is added takes shards while everything is read as before. */
async function loseAndGrow(cluster: CitusCluster, warehouse: SyncedWarehouse, checklist: Checklist): Promise<void> {
  const { until } = checklist
  const doctor = async () => (await warehouse.command('doctor', '--json')).stdout
  const [worker] = cluster.workers
  if (!worker) throw new Error('lose a node: the cluster has none')
  const before = await digestOfRecords(warehouse)
  const people = await countPeople(warehouse)
  const reached = await personOfOtherNode(warehouse, worker.port)
  await ask(warehouse, `update vitalsync.settle_times set computed_at = '-infinity'`)
  await worker.kill()
  await until('doctor names the node that is away', async () =>
    (await doctor()).includes(`not answer: 127.0.0.1:${worker.port}`),
  )
  await expectDone(checklist, warehouse, 'sync', '--profile', reached)
  const sync = warehouse.start('sync')
  const ended = async (run: Omit<NewestRun, 'kind'>) =>
    isDeepStrictEqual(await newestRun(warehouse), { kind: 'sync', ...run })
  await until('a sync of everybody that begins without the node waits for it', () =>
    ended({ state: 'running', enqueuedAll: false, ended: 0 }),
  )
  await expectDone(checklist, warehouse, 'migrate')
  await until('settle times cannot be computed without the node', async () =>
    (await cluster.listErrors()).some(
      ({ sqlState, statement }) => sqlState.startsWith('08') && statement.includes('into vitalsync.settle_times'),
    ),
  )
  await worker.start()
  await sync.ended
  await until('the same sync ends for everybody when the node is back', () =>
    ended({ state: 'done', enqueuedAll: true, ended: people }),
  )
  await expectDone(checklist, warehouse, 'sync')
  await until('settle times are computed when it is back, by the next worker at the latest', () =>
    areSettleTimesComputed(warehouse),
  )
  await until('doctor finds all nodes', async () =>
    (await doctor()).includes(`all ${cluster.workers.length + 1} nodes answer`),
  )
  worker.freeze(true)
  await until(
    'doctor names the node that is silent',
    async () => (await doctor()).includes(`not answer: 127.0.0.1:${worker.port}`),
    0,
  )
  worker.freeze(false)
  await rebalance(cluster, warehouse, checklist)
  await until('the records are the same', async () => (await digestOfRecords(warehouse)) === before)
  await until('groups of profiles and shards agree', async () =>
    (await doctor()).includes('each bucket of profiles is one shard'),
  )
}

/** Adds a node and moves shards to it. A write to all shards that is not committed holds the move up until `doctor` was asked. */
async function rebalance(cluster: CitusCluster, warehouse: SyncedWarehouse, { until }: Checklist): Promise<void> {
  const says = async (text: string) => (await warehouse.command('doctor', '--json')).stdout.includes(text)
  const moving = 'shards are being moved'
  const added = await cluster.addWorker()
  const writer = new pg.Client({ connectionString: warehouse.databaseUrl })
  const client = new pg.Client({ connectionString: warehouse.databaseUrl })
  for (const connection of [writer, client]) await connection.connect()
  await until('doctor says nothing of moves while there are none', async () => !(await says(moving)), 0)
  await writer.query('begin; update vitalsync.profiles set due_at = due_at')
  await client.query(`select citus_rebalance_start(shard_transfer_mode => 'block_writes')`)
  const isMoving = `select from pg_dist_background_task where status = 'running' and command like '%citus_move_shard_placement%'`
  await until('a shard is being moved', async () => (await client.query(isMoving)).rowCount === 1)
  await until('doctor says that shards are being moved', () => says(moving), 0)
  await added.kill()
  await until(
    'doctor says so, and names the new node, while it is away',
    async () => {
      return (await says(moving)) && (await says(`not answer: 127.0.0.1:${added.port}`))
    },
    0,
  )
  await added.start()
  await writer.query('commit')
  const held = 'select 1 from citus_shards where nodeport = $1'
  await until('the new node has shards', async () => ((await client.query(held, [added.port])).rowCount ?? 0) > 0)
  await client.query('select citus_rebalance_wait()')
  await until('doctor says nothing of moves after the end', async () => !(await says(moving)), 0)
  for (const connection of [writer, client]) await connection.end()
}

async function ask<R extends pg.QueryResultRow>(
  { databaseUrl }: SyncedWarehouse,
  text: string,
  values: unknown[] = [],
): Promise<R | undefined> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    return (await client.query<R>(text, values)).rows[0]
  } finally {
    await client.end()
  }
}

async function firstPersonOf(warehouse: SyncedWarehouse): Promise<string> {
  const text = 'select external_id as name from vitalsync.names order by 1 limit 1'
  return (await ask<{ name: string }>(warehouse, text))?.name ?? ''
}

async function countPeople(warehouse: SyncedWarehouse): Promise<number> {
  return (await ask<{ all: number }>(warehouse, 'select count(*)::int as all from vitalsync.names'))?.all ?? 0
}

/** Somebody whose rows lie at another node than this. */
async function personOfOtherNode(warehouse: SyncedWarehouse, port: number): Promise<string> {
  const found = await ask<{ name: string }>(
    warehouse,
    `select external_id as name from vitalsync.names n
     join citus_shards s on s.shardid = get_shard_id_for_distribution_column('vitalsync.profiles', n.id)
     where nodeport <> $1 order by n.id limit 1`,
    [port],
  )
  return found?.name ?? ''
}

/** A worker computes those of the streams that brought something. */
async function areSettleTimesComputed(warehouse: SyncedWarehouse): Promise<boolean> {
  const text = `select bool_or(computed_at > '-infinity') as are from vitalsync.settle_times`
  return (await ask<{ are: boolean }>(warehouse, text))?.are === true
}

type NewestRun = { kind: string; state: string; enqueuedAll: boolean; ended: number }

async function newestRun(warehouse: SyncedWarehouse): Promise<NewestRun | undefined> {
  const run = await ask<NewestRun>(
    warehouse,
    `select kind, state, enqueued_all as "enqueuedAll", (done + failed)::int as ended
     from vitalsync.runs order by id desc limit 1`,
  )
  return run && { ...run }
}

export async function compare(
  { say, until }: Checklist,
  what: string,
  textOf: (warehouse: SyncedWarehouse) => Promise<string>,
  one: SyncedWarehouse,
  other: SyncedWarehouse,
): Promise<void> {
  const texts = await Promise.all([textOf(one), textOf(other)])
  await until(what, async () => texts[0] === texts[1], 0)
  if (texts[0] !== texts[1]) say(texts.map((text) => text.slice(0, 4000)).join('\n'))
}
