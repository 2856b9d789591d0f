import { setTimeout as wait } from 'node:timers/promises'
import pg from 'pg'
import { SECOND } from '../../src/base/time/units.ts'
import { createSeededRandom, type SeededRandom } from '../../src/service/sandbox/people/seeded-random.ts'
import type { CitusCluster, CitusNode } from '../support/citus-cluster.ts'
import type { Program } from '../support/run-program.ts'
import { type ClusterRound, compare, divide, expectDone, syncUntilStill } from './citus-sync.ts'
import { digestOfRecords, gapsOf } from './record-digests.ts'

const WORKERS = 2
/** How long a node is up between two faults, and how long it is away: at random, up to so long. */
const UP_MS = 12 * SECOND
const AWAY_MS = 8 * SECOND
/** A process may exit and be restarted, as a supervisor does it; more often than this is a fault of its own. */
const STARTS_MAX = 3

/**
 * Syncs an empty divided warehouse again and again while nodes are killed and frozen at random, the coordinator among them, and shards
 * move from node to node, until the time is up. After each round nothing may be missing, stand twice, or differ from the plain warehouse.
 */
export async function runChaos(
  round: ClusterRound,
  { forMs, seed }: { readonly forMs: number; readonly seed: string },
) {
  const { sandbox, checklist } = round
  const random = createSeededRandom(seed, 'faults')
  const plain = await sandbox.open('chaos_plain', { url: await sandbox.createDatabase('chaos_plain'), shards: 1 })
  for (const words of [['migrate'], ['profiles', 'discover']]) await expectDone(checklist, plain, ...words)
  await syncUntilStill(checklist, plain)
  for (let count = 1, endMs = performance.now() + forMs; performance.now() < endMs; count++) {
    await runRound(round, plain, { name: `chaos_${count}`, random })
  }
}

async function runRound(
  { cluster, shards, sandbox, checklist }: ClusterRound,
  plain: Awaited<ReturnType<ClusterRound['sandbox']['open']>>,
  { name, random }: { readonly name: string; readonly random: SeededRandom },
): Promise<void> {
  const { say, until } = checklist
  const url = await cluster.createDatabase(name)
  const citus = await sandbox.open(name, { url, shards })
  await expectDone(checklist, citus, ...divide(shards))
  await expectDone(checklist, citus, 'profiles', 'discover')
  const workers = Array.from({ length: WORKERS }, () => keepUp(() => citus.start('worker')))
  const stop = new AbortController()
  const faults = provokeFaults(cluster, { random, say, signal: stop.signal })
  const moves = moveShards(url, { random, signal: stop.signal })
  let tries = 0
  await until(
    `${name}: a sync ends well in spite of the faults`,
    async () => {
      tries += 1
      const { code, stderr } = await citus.command('sync')
      if (code !== 0) say(`${name}: sync ended with ${code}: ${stderr.slice(-600)}`)
      return code === 0
    },
    600 * SECOND,
  )
  stop.abort()
  const counted = await faults
  const moved = await moves
  say(`${name}: ${counted} faults, ${moved} moves of shards, ${tries} tries of sync`)
  await until(`${name}: shards moved meanwhile`, async () => moved > 0, 0)
  await until(`${name}: a sync without faults`, async () => (await citus.command('sync')).code === 0, 120 * SECOND)
  await compare(checklist, `${name}: the same records`, digestOfRecords, plain, citus)
  await compare(checklist, `${name}: the same gaps`, gapsOf, plain, citus)
  const failed = (await citus.command('failures', 'list', '--json')).stdout.trim()
  await until(`${name}: nothing failed`, async () => failed === '', 0)
  if (failed) say(failed.slice(0, 2000))
  for (const worker of workers) {
    const starts = await worker.end()
    await until(`${name}: a worker was started ${starts} times`, async () => starts <= STARTS_MAX, 0)
  }
  await cluster.dropDatabase(name)
}

/** Kills or freezes one node after the other until the signal, and leaves all of them up. Returns how many faults there were. */
async function provokeFaults(
  { coordinator, workers }: CitusCluster,
  {
    random,
    say,
    signal,
  }: { readonly random: SeededRandom; readonly say: (text: string) => void; readonly signal: AbortSignal },
): Promise<number> {
  const nodes: [CitusNode, ...CitusNode[]] = [coordinator, ...workers]
  let count = 0
  while (!signal.aborted) {
    await wait(random.between(0, UP_MS), undefined, { signal }).catch(() => undefined)
    if (signal.aborted) break
    const node = random.pick(nodes)
    const name = node === coordinator ? 'the coordinator' : `node ${workers.indexOf(node) + 1}`
    const isKill = random.chance(0.7)
    say(`${name} is ${isKill ? 'killed' : 'frozen'}`)
    count += 1
    if (isKill) await node.kill()
    else node.freeze(true)
    await wait(random.between(0, AWAY_MS), undefined, { signal }).catch(() => undefined)
    if (isKill) await node.start()
    else node.freeze(false)
    say(`${name} is back`)
  }
  return count
}

type Moving = { readonly random: SeededRandom; readonly signal: AbortSignal }

const MOVE_EVERY_MS = SECOND
const MOVE_MAX_MS = 20 * SECOND

/** Moves one shard after the other to another node until the signal. Returns how many moved: with a node away none can. */
async function moveShards(url: string, { random, signal }: Moving): Promise<number> {
  let moved = 0
  while (!signal.aborted) {
    const isMoved = await moveOneShard(url, random).catch(() => false)
    if (isMoved) moved += 1
    await wait(MOVE_EVERY_MS, undefined, { signal }).catch(() => undefined)
  }
  return moved
}

async function moveOneShard(url: string, random: SeededRandom): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, statement_timeout: MOVE_MAX_MS, query_timeout: MOVE_MAX_MS })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const { rows } = await client.query<{ shard: string; from: string; to: string }>(
      `select s.shardid as shard, quote_literal(n.nodename) || ', ' || n.nodeport as from, quote_literal(o.nodename) || ', ' || o.nodeport as to
       from pg_dist_shard s join pg_dist_placement p using (shardid) join pg_dist_node n on n.groupid = p.groupid
       join pg_dist_node o on o.groupid <> n.groupid and o.shouldhaveshards
       where s.logicalrelid = 'vitalsync.profiles'::regclass`,
    )
    const [first, ...rest] = rows
    if (!first) return false
    const { shard, from, to } = random.pick([first, ...rest])
    const mode = random.pick(['block_writes', 'force_logical'])
    await client.query(`select citus_move_shard_placement(${shard}, ${from}, ${to}, '${mode}')`)
    return true
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** A process that is started again when it ends, until `end`, which returns how often it was started. */
function keepUp(start: () => Program): { end(): Promise<number> } {
  let starts = 0
  let isEnding = false
  let program: Program
  const follow = async () => {
    while (!isEnding) {
      starts += 1
      program = start()
      const { code, stderr } = await program.ended
      if (!isEnding) process.stdout.write(`a worker ended with ${code}: ${stderr.slice(-600)}\n`)
    }
  }
  const following = follow()
  return {
    async end() {
      isEnding = true
      program.kill('SIGTERM')
      await following
      return starts
    },
  }
}
