import { expect } from 'vitest'
import { isDistributed } from '../support/distributed-warehouse.ts'
import { soon } from '../support/fixtures.ts'
import { countLockWaiters, endLockWaiters } from '../support/lock-waiters.ts'
import { scoreOf } from '../support/sample-scores.ts'
import { test } from '../support/test-pipeline.ts'
import { connect } from '../support/test-warehouse.ts'

test('there is no instant at which the ledger vouches for rows that are not there', async ({
  open,
  peer,
  warehouseUrl,
  onTestFinished,
  skip,
}) => {
  skip(isDistributed, 'a lock on a divided table does not reach its shards, in which a worker writes')
  const line = await open('postgres')
  const [ada = ''] = await line.addProfiles('ada')
  peer.give('ada', 'scores', [scoreOf(10, 0.4), scoreOf(9, 0.5)])
  const other = await connect(warehouseUrl)
  onTestFinished(() => other.end())
  const seen = async () => {
    const { rows } = await other.query(
      `select (select count(*)::int from vitalsync.scores) as scores,
        (select covered @> now() - interval '10 days' from vitalsync.ledger where profile_id = $1 and stream = 'scores') as covered`,
      [ada],
    )
    return rows[0]
  }

  const held = peer.hold((request) => request.path.includes('/score/'))
  line.work()
  await line.tick('sync', { streams: ['scores'] })
  await held.reached
  // The transaction waits at its last step: rows and ledger are written but not committed.
  const blocker = await connect(warehouseUrl)
  try {
    await blocker.query('begin; lock vitalsync.refusals in access exclusive mode')
    held.release()
    await expect.poll(() => countLockWaiters(line.rows), soon).toBe(1)
    expect(await seen()).toEqual({ scores: 0, covered: false })

    // The worker dies there: nothing of the transaction stays.
    await endLockWaiters(line.rows)
    expect(await seen()).toEqual({ scores: 0, covered: false })
  } finally {
    await blocker.end()
  }

  // After the next attempt both are there at once.
  await line.idle()
  expect(await seen()).toEqual({ scores: 2, covered: true })
})
