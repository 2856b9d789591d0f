import { expect } from 'vitest'
import { isReadOf } from '../support/peer.ts'
import { scoreOf } from '../support/sample-scores.ts'
import { queueKinds, test } from '../support/test-pipeline.ts'

for (const engine of queueKinds) {
  test(`a queue that is wiped in mid-run costs nothing: the next tick plans the same work again (${engine})`, async ({
    open,
    peer,
  }) => {
    const line = await open(engine, { CONCURRENCY: '1' })
    const names = Array.from({ length: 12 }, (_, index) => `person-${index}`)
    for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4), scoreOf(9, 0.5)])
    await line.addProfiles(...names)
    const held = peer.hold(isReadOf('scores', 'person-5'))

    line.work(2000)
    await line.tick('nightly')
    await held.reached
    await line.wipeQueue()
    held.release()
    await line.idle()
    const [left] = await line.rows(`select count(*)::int as n from vitalsync.profiles where finished_at is null`)
    expect(left?.['n']).toBeGreaterThan(0)

    await line.tick('sweep')
    await line.idle()

    const [all] = await line.rows(
      `select count(*)::int as rows, max(revision) as revision, count(distinct profile_id)::int as people from vitalsync.scores`,
    )
    expect(all).toEqual({ rows: 24, revision: 1, people: 12 })
    expect(await line.rows(`select 1 from vitalsync.ledger where stream = 'scores' and covered = '{}'`)).toEqual([])
  })
}
