import { readdirSync, readFileSync } from 'node:fs'
import type { CitusCluster, CitusNode } from '../support/citus-cluster.ts'
import { type ClusterRound, divide, expectDone, syncUntilStill } from './citus-sync.ts'
import { countRecords } from './record-digests.ts'
import type { SyncedWarehouse } from './synced-warehouses.ts'

/** The goal in docs/why/performance.md. */
const TIMES_PLAIN_MAX = 3
const MS_PER_TICK = 10

/** Processor time of servers, in milliseconds. */
type ServerCost = { readonly coordinatorMs: number; readonly nodesMs: number; readonly records: number }

/**
 * The processor time of all Postgres servers for a cold pull and for a second one, per record: first of one server that is not
 * divided, with the same binaries and settings, then of the cluster with one node, two, and so on. Tables are
 * vacuumed between the two: autovacuum, which comes once a minute, would be in one measurement and not in the next.
 */
export async function measureCost({ cluster, shards, sandbox, checklist }: ClusterRound): Promise<void> {
  const { say, until } = checklist
  await cluster.setAutovacuum('off')
  const measured = async (nodes: number) => {
    const name = nodes === 0 ? 'undivided' : `nodes_${nodes}`
    const url = await cluster.createDatabase(name, nodes)
    const warehouse = await sandbox.open(name, { url, shards: nodes === 0 ? 1 : shards })
    await expectDone(checklist, warehouse, ...(nodes === 0 ? ['migrate'] : divide(shards)))
    await expectDone(checklist, warehouse, 'profiles', 'discover')
    const cold = await costOf(cluster, warehouse, () => expectDone(checklist, warehouse, 'sync'))
    await cluster.vacuum(name)
    const again = await costOf(cluster, warehouse, () => expectDone(checklist, warehouse, 'sync'))
    await cluster.dropDatabase(name)
    return { cold, again }
  }
  // The service derives at the first request for a person, and for some time after it: syncs that are thrown away, until it is still.
  const before = await sandbox.open('before', { url: await cluster.createDatabase('before', 0), shards: 1 })
  for (const words of [['migrate'], ['profiles', 'discover']]) await expectDone(checklist, before, ...words)
  await syncUntilStill(checklist, before)
  await cluster.dropDatabase('before')
  const plain = await measured(0)
  say(describe('one server, not divided: cold', plain.cold, plain.cold))
  say(describe('one server, not divided: again', plain.again, plain.again))
  for (let nodes = 1; nodes <= cluster.workers.length; nodes++) {
    const { cold, again } = await measured(nodes)
    say(describe(`${nodes} nodes: cold`, cold, plain.cold))
    say(describe(`${nodes} nodes: again`, again, plain.again))
    for (const [what, cost, beside] of [
      ['cold', cold, plain.cold],
      ['again', again, plain.again],
    ] as const) {
      await until(
        `${nodes} nodes, ${what}: the whole ≤ ${TIMES_PLAIN_MAX} × one server`,
        async () => wholeOf(cost) <= TIMES_PLAIN_MAX * wholeOf(beside),
        0,
      )
    }
  }
  await cluster.setAutovacuum('on')
}

const wholeOf = ({ coordinatorMs, nodesMs, records }: ServerCost) => ((coordinatorMs + nodesMs) * 1000) / records
const shareOf = ({ coordinatorMs, nodesMs }: ServerCost) => coordinatorMs / (coordinatorMs + nodesMs)

function describe(what: string, cost: ServerCost, beside: ServerCost): string {
  const times = (wholeOf(cost) / wholeOf(beside)).toFixed(2)
  return `${what}: ${cost.records} records, ${wholeOf(cost).toFixed(1)} µs each, ${times} × one server; coordinator ${shareOf(cost).toFixed(3)} of it`
}

async function costOf(
  cluster: CitusCluster,
  warehouse: SyncedWarehouse,
  work: () => Promise<void>,
): Promise<ServerCost> {
  const before = msOfServers(cluster)
  await work()
  const after = msOfServers(cluster)
  const records = await countRecords(warehouse)
  return { coordinatorMs: after.coordinatorMs - before.coordinatorMs, nodesMs: after.nodesMs - before.nodesMs, records }
}

function msOfServers({ coordinator, workers }: CitusCluster): { coordinatorMs: number; nodesMs: number } {
  const nodesMs = workers.reduce((sum, worker) => sum + msOfServer(worker), 0)
  return { coordinatorMs: msOfServer(coordinator), nodesMs }
}

/** Processor time of a server: its postmaster, the sessions that ended, and those that go on. */
function msOfServer({ pid }: CitusNode): number {
  let ticks = 0
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const fields = statOf(name)
    if (Number(name) === pid) ticks += sum(fields.slice(11, 15))
    else if (Number(fields[1]) === pid) ticks += sum(fields.slice(11, 13))
  }
  return ticks * MS_PER_TICK
}

const sum = (texts: readonly string[]) => texts.reduce((total, text) => total + Number(text), 0)

/** The fields after the name of the program; none where the process has just ended. */
function statOf(pid: string): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}
