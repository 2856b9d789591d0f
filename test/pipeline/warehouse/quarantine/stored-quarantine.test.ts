import { expect } from 'vitest'
import { pulledStreams } from '../../../../config/streams.ts'
import { DAY, SECOND } from '../../../../src/base/time/units.ts'
import { findGaps } from '../../../../src/pipeline/ledger/coverage-gaps.ts'
import type { Reading } from '../../../../src/pipeline/transfer/reading.ts'
import { createQuarantine } from '../../../../src/pipeline/warehouse/quarantine/stored-quarantine.ts'
import { readKnownCoverage } from '../../../../src/pipeline/warehouse/reports/coverage-report.ts'
import { scores } from '../../../support/stream-by-name.ts'
import { test as base, march, marchMs, scoreRecord, scoresReading } from '../../../support/test-warehouse.ts'

const invalidOf = (raw: object) => ({ path: 'value', reason: 'Invalid input', raw: JSON.stringify(raw) })
const dated = invalidOf({ scoreDateTime: march(2), value: 'high' })
const undated = invalidOf({ value: 'low' })
const sound = [scoreRecord({ scoreDateTime: march(2) })]

const test = base.extend<{ story: { ada: string; read(more?: Partial<Reading>): Promise<unknown> } }>({
  /** A window of Ada whose reading held two records that do not fit, and further readings of it. */
  story: async ({ warehouse }, use) => {
    const [ada = ''] = await warehouse.addProfiles('ada')
    let sentAtMs = Date.now()
    const read = (more: Partial<Reading> = {}) => {
      sentAtMs = Math.max(Date.now(), sentAtMs + SECOND)
      return warehouse.writer.store({ ...scoresReading({ profileId: ada, sentAtMs, records: sound }), ...more })
    }
    await read({ invalid: [dated, undated] })
    await use({ ada, read })
  },
})

test('a record leaves the quarantine when a later reading of its window does not hold it in that form', async ({
  story,
  warehouse,
}) => {
  const left = async () =>
    (await warehouse.rows('select body from vitalsync.quarantine order by body')).map(({ body }) => body)
  const short = { startMs: marchMs(1) - DAY, endMs: marchMs(4) }

  await story.read({ word: 'pending' })
  await story.read({ sentAtMs: Date.now() - 60 * SECOND })
  expect(await left(), 'no later word').toEqual([dated.raw, undated.raw])
  await story.read({ window: { startMs: marchMs(1), endMs: marchMs(4) } })
  expect(await left(), 'the day, from the noon before, is not whole in every offset').toEqual([dated.raw, undated.raw])
  await story.read({ window: short })
  expect(await left(), 'by its day').toEqual([undated.raw])
  await story.read({ invalid: [undated] })
  expect(await left(), 'it is still there').toEqual([undated.raw])
  await story.read()
  expect(await left(), 'by the window').toEqual([])
})

test('after a replay gaps and days say that the span is read again, not that nothing has asked for it', async ({
  story,
  warehouse,
}) => {
  const { pool } = warehouse
  const gaps = async () => {
    const [known] = await readKnownCoverage({ pool, streams: [scores] }, { afterId: '0', limit: 1 })
    return known ? findGaps(known).filter(({ endMs, startMs }) => startMs < marchMs(5) && endMs > marchMs(1)) : []
  }
  const days = () =>
    warehouse.rows(`select state from warehouse.days where local_date = '2026-03-03' and stream = 'scores'`)
  expect(await gaps()).toEqual([])

  const replayed = await createQuarantine({ pool, streams: pulledStreams }).replay({})

  expect(replayed).toEqual({ pushed: 0, reread: 2 })
  expect((await gaps()).map(({ reason }) => reason)).toEqual(['waiting'])
  expect(await days()).toEqual([{ state: 'unsettled' }])
  await story.read({ word: 'finished', generation: 1 })
  expect(await gaps()).toEqual([])
  expect(await days()).toEqual([{ state: 'empty' }])
})
