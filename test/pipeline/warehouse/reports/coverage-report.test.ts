import { expect } from 'vitest'
import { findGaps } from '../../../../src/pipeline/ledger/coverage-gaps.ts'
import { readKnownCoverage } from '../../../../src/pipeline/warehouse/reports/coverage-report.ts'
import { scores } from '../../../support/stream-by-name.ts'
import { test } from '../../../support/test-warehouse.ts'

test('after demographics were pushed, the whole past is a gap that waits for upstream', async ({ warehouse }) => {
  const [ada = ''] = await warehouse.addProfiles('ada')
  const { outbox, pool } = warehouse
  const item = { itemKey: '', body: '{"age":35}', startAtMs: 0, endAtMs: 0 }
  await outbox.add([{ profileId: ada, stream: 'demographics', ...item }])
  const { parcels } = await outbox.readWaiting(ada, 'demographics')
  await outbox.markSent({ profileId: ada, stream: 'demographics', parcels })

  const [known] = await readKnownCoverage({ pool, streams: [scores] }, { afterId: '0', limit: 10 })
  if (!known) throw new Error('the ledger knows the scores of ada')
  const [touched] = known.awaiting
  expect(touched?.startMs).toBe(Number.NEGATIVE_INFINITY)
  const [{ settles } = {}] = await warehouse.rows(
    `select to_char((l.touched_at + interval '1 ms' * s.settle_ms) at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as settles
     from vitalsync.ledger l join vitalsync.day_streams s using (stream) where stream = 'scores'`,
  )
  expect(findGaps(known)[0]).toEqual({
    startMs: known.wanted.startMs,
    endMs: touched?.endMs,
    reason: 'waiting',
    detail: `settles from ${settles} on, sooner if upstream says that it has derived`,
    nextTryAtMs: known.readAgainAtMs,
  })
})
