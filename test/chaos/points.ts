import { expect } from 'vitest'
import { createReports } from '../../src/pipeline/warehouse/reports/status-report.ts'
import { soon } from '../support/fixtures.ts'
import { isReadOf, isUpload, type Peer } from '../support/peer.ts'
import { scoreOf } from '../support/sample-scores.ts'
import type { TestPipeline } from '../support/test-pipeline.ts'
import { connect } from '../support/test-warehouse.ts'

type HeldPoint = { reached: () => Promise<unknown>; release: () => unknown }
type Scene = { line: TestPipeline; peer: Peer }

/** Locks a table: every transaction that writes to it waits until the release. */
async function holdTable({ line }: Scene, table: string): Promise<HeldPoint> {
  const blocker = await connect(line.config.databaseUrl ?? '')
  await blocker.query(`begin; lock vitalsync.${table} in exclusive mode`)
  const waiting = () =>
    line.rows(
      `select 1 from pg_locks l join pg_class c on c.oid = l.relation where not l.granted and c.relname = $1
       and l.database = (select oid from pg_database where datname = current_database())`,
      [table],
    )
  return { reached: async () => expect.poll(waiting, soon).not.toEqual([]), release: () => blocker.end() }
}

function holdPeer({ peer }: Scene, ...how: Parameters<Peer['hold']>): HeldPoint {
  const held = peer.hold(...how)
  return { reached: () => held.reached, release: held.release }
}

/** The points at which a test kills a process, in the order in which one job reaches them. */
export const points = {
  'before the upload is taken': (scene: Scene) => holdPeer(scene, isUpload),
  'after the upload was taken, before its answer': (scene: Scene) => holdPeer(scene, isUpload, 'after'),
  'after the answer, before the mark': (scene: Scene) => holdTable(scene, 'parcels'),
  'before upstream has read': (scene: Scene) => holdPeer(scene, isReadOf('scores')),
  'after upstream has read, before its answer': (scene: Scene) => holdPeer(scene, isReadOf('scores'), 'after'),
  'after the answer, before the rows are written': (scene: Scene) => holdTable(scene, 'scores'),
  'after the rows are written, before the commit': (scene: Scene) => holdTable(scene, 'refusals'),
  'after the commit, before the job is noted as done': (scene: Scene) => holdTable(scene, 'failures'),
}

const scores = [scoreOf(12, 0.1), scoreOf(11, 0.2), scoreOf(10, 0.3)]

/** Adds a profile with an item that waits to be pushed and records to be pulled. */
export async function addProfileWithWork({ line, peer }: Scene, name: string): Promise<string> {
  peer.give(name, 'scores', scores)
  const [profileId = ''] = await line.addProfiles(name)
  const item = { stream: 'data-logs' as const, itemKey: name, startAtMs: 0, endAtMs: 1 }
  await line.pipeline.outbox.add([{ ...item, profileId, body: JSON.stringify({ id: name }) }])
  return profileId
}

/** Every record and item is stored once, no window is missing, no job failed. */
export async function expectWhole({ line, peer }: Scene, names: readonly string[]): Promise<void> {
  const found = await line.rows(
    `select external_id, count(*)::int as n, array_agg(value order by value) as values
     from warehouse.scores where gone_at is null and revision = 1 group by 1 order by 1`,
  )
  expect(found).toEqual(names.map((name) => ({ external_id: name, n: 3, values: [0.1, 0.2, 0.3] })))
  expect(await line.rows('select 1 from vitalsync.history')).toEqual([])
  expect(await createReports(line.pipeline).countWaiting()).toEqual([])
  expect([...peer.logs.keys()].sort()).toEqual([...names].sort())
  expect(await listHoles(line)).toEqual([])
  expect(await line.rows('select 1 from vitalsync.failures union all select 1 from vitalsync.refusals')).toEqual([])
}

const listHoles = (line: TestPipeline) =>
  line.rows(
    `select l.* from vitalsync.ledger l join vitalsync.profiles p on p.id = l.profile_id where stream = 'scores'
     and not covered @> tstzrange(p.wanted_from, now() - interval '3 days 1 minute')`,
  )

const SYNCS_MAX = 3

/**
 * Postgres may finish a statement of a killed worker a moment after its death. Where that marks an item as sent, the reading
 * that was planned before covers nothing, and the next sync reads again.
 */
export async function syncUntilCovered(line: TestPipeline): Promise<void> {
  for (let syncs = 1; syncs <= SYNCS_MAX; syncs += 1) {
    await line.tick('sync')
    await line.idle()
    if ((await listHoles(line)).length === 0) return
  }
}
