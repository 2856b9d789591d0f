import { expect } from 'vitest'
import { soon } from '../support/fixtures.ts'
import { isReadOf, isUpload, type Peer } from '../support/peer.ts'
import { engines, type Line, test } from '../support/pipeline.ts'
import { scoreOf } from '../support/records.ts'
import { connect } from '../support/warehouse.ts'
import { startWorkerProcess } from './workers.ts'

const scores = [scoreOf(12, 0.1), scoreOf(11, 0.2), scoreOf(10, 0.3)]

type Stop = { reached: () => Promise<unknown>; release: () => unknown }
type Scene = { line: Line; peer: Peer }

/** Holds up whatever wants to write to a table, in the middle of its transaction or before it. */
async function holdTable({ line }: Scene, table: string): Promise<Stop> {
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

function holdPeer({ peer }: Scene, ...how: Parameters<Peer['hold']>): Stop {
  const held = peer.hold(...how)
  return { reached: () => held.reached, release: held.release }
}

/** Where a worker dies, in the order in which one job comes by. */
const points: Record<string, (scene: Scene) => Stop | Promise<Stop>> = {
  'before the upload is taken': (scene) => holdPeer(scene, isUpload),
  'after the upload was taken, before its answer': (scene) => holdPeer(scene, isUpload, 'after'),
  'after the answer, before the mark': (scene) => holdTable(scene, 'parcels'),
  'before upstream has read': (scene) => holdPeer(scene, isReadOf('scores')),
  'after upstream has read, before its answer': (scene) => holdPeer(scene, isReadOf('scores'), 'after'),
  'after the answer, before the rows are written': (scene) => holdTable(scene, 'scores'),
  'after the rows are written, before the commit': (scene) => holdTable(scene, 'refusals'),
  'after the commit, before the job is noted as done': (scene) => holdTable(scene, 'failures'),
}

for (const engine of engines) {
  test(`a worker that dies anywhere costs nothing but repeated work (${engine})`, { timeout: 100_000 }, async ({
    open,
    peer,
    onTestFinished,
  }) => {
    const line = await open(engine)
    const scene = { line, peer }
    // On the second engine every third point: what lies between is the same code.
    const names = Object.keys(points).filter((_, index) => engine === 'redis' || index % 3 === 1)

    for (const [index, point] of names.entries()) {
      const name = `person-${index}`
      peer.give(name, 'scores', scores)
      const [profileId = ''] = await line.people(name)
      const item = { stream: 'data-logs' as const, itemKey: name, startAtMs: 0, endAtMs: 1 }
      await line.pipeline.outbox.add([{ ...item, profileId, body: JSON.stringify({ id: name }) }])
      const stop = await points[point]?.(scene)
      const victim = await startWorkerProcess(line.settings)
      onTestFinished(() => victim.kill())
      await line.tick('sync', { profileIds: [profileId], streams: ['scores'] })
      await stop?.reached()
      await victim.kill()
      await stop?.release()
    }
    const successor = await startWorkerProcess(line.settings)
    onTestFinished(() => successor.kill())
    await line.tick('sync')
    await line.idle()

    const expected = names.map((_, index) => ({ external_id: `person-${index}`, n: 3, values: [0.1, 0.2, 0.3] }))
    const found = await line.rows(
      `select external_id, count(*)::int as n, array_agg(value order by value) as values
       from warehouse.scores where gone_at is null and revision = 1 group by 1 order by 1`,
    )
    expect(found).toEqual(expected)
    expect(await line.rows('select 1 from vitalsync.history')).toEqual([])
    expect(await line.rows('select 1 from vitalsync.parcels')).toEqual([])
    expect([...peer.logs.keys()].sort()).toEqual(names.map((_, index) => `person-${index}`))
    const holes = await line.rows(
      `select 1 from vitalsync.ledger l join vitalsync.profiles p on p.id = l.profile_id where stream = 'scores'
       and not covered @> tstzrange(p.wanted_from, now() - interval '3 days 1 minute')`,
    )
    expect(holes).toEqual([])
    expect(await line.rows('select 1 from vitalsync.failures union all select 1 from vitalsync.refusals')).toEqual([])
  })
}
