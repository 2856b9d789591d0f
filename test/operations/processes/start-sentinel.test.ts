import { expect } from 'vitest'
import { DAY, HOUR, MINUTE } from '../../../src/base/time/units.ts'
import {
  createSentinelRun,
  recoverSentinels,
  startProducingScheduler,
} from '../../../src/operations/processes/start-producing.ts'
import { produceRun } from '../../../src/operations/produce-run.ts'
import { PartialOutage } from '../../../src/pipeline/warehouse/postgres/sql-errors.ts'
import { farCron, soon } from '../../support/fixtures.ts'
import { loseNode } from '../../support/lost-node.ts'
import { scoreOf } from '../../support/sample-scores.ts'
import { type TestPipeline, test } from '../../support/test-pipeline.ts'

const names = Array.from({ length: 12 }, (_, index) => `person-${index}`)
const settings = {
  WAREHOUSE_SHARDS: '4',
  SENTINEL_SHARE: '0.2',
  // No slot of a schedule comes while a test runs.
  NIGHTLY_CRON: farCron(),
  SWEEP_CRON: farCron(),
}

/** A nightly that is enqueued in full. */
async function enqueueNightly(line: TestPipeline) {
  const slotAt = new Date(Math.floor((Date.now() - HOUR) / MINUTE) * MINUTE)
  const nightly = await line.pipeline.runs.claimSlot('nightly', slotAt)
  if (!nightly) throw new Error('the slot was claimed before')
  await produceRun({ ...line, signal: AbortSignal.timeout(60_000) }, nightly, { untilAll: true })
  return nightly
}

const sentinels = (line: TestPipeline) =>
  line.rows(`select id, state, params from vitalsync.runs where kind = 'sentinel' order by id`)

test('a nightly whose sentinel could not be drawn, because a node was away, has it later, once', async ({
  open,
  peer,
}) => {
  const line = await open('postgres', settings)
  await line.addProfiles(...names)
  for (const name of names) peer.give(name, 'scores', [scoreOf(10, 0.4)])
  const working = line.work()
  await line.tick('sync', { streams: ['scores'] })
  await line.idle()
  await working.close()
  const nightly = await enqueueNightly(line)
  const { pool } = line.pipeline
  const node = await loseNode(line, (id) => pool.division.keyOf(id) === 1)
  const whileScheduled = async (work: () => Promise<void>) => {
    await line.rows(`update vitalsync.runs set touched_at = now() - interval '1 hour' where id = $1`, [nightly.id])
    const scheduler = await startProducingScheduler(line.pipeline, line.config, line.log)
    await work().finally(() => scheduler.close())
  }

  await expect(createSentinelRun(line, nightly)).rejects.toThrow(PartialOutage)
  await whileScheduled(() =>
    expect.poll(line.logged, soon).toContain('a tick failed; the next one plans the same work again'),
  )
  expect(await sentinels(line)).toEqual([])

  await node.find()
  // Somebody is at it.
  expect(await line.pipeline.runs.takeUnwatched(2 * MINUTE)).toEqual([])
  await whileScheduled(() => expect.poll(() => sentinels(line), soon).toHaveLength(1))
  expect(await sentinels(line)).toMatchObject([{ state: 'running', params: { slotAt: nightly.params['slotAt'] } }])
  await line.rows(`update vitalsync.runs set touched_at = now() - interval '1 hour'`)
  expect(await line.pipeline.runs.takeUnwatched(2 * MINUTE)).toEqual([])
})

test('a nightly is left without a sentinel where nothing is covered, where it is turned off, and a day later', async ({
  open,
}) => {
  const line = await open('postgres', settings)
  const { runs } = line.pipeline
  await line.addProfiles(...names)
  const context = { ...line, signal: AbortSignal.timeout(60_000) }
  const nightly = await enqueueNightly(line)

  await recoverSentinels({ ...context, config: { ...line.config, sentinelShare: 0 } }, 0)
  expect(await runs.takeUnwatched(0)).toMatchObject([{ id: nightly.id }])
  await line.rows(`update vitalsync.runs set started_at = started_at - $1 * interval '1 ms'`, [DAY])
  expect(await runs.takeUnwatched(0)).toEqual([])
  await line.rows(`update vitalsync.runs set started_at = now(), state = 'stopped' where id = $1`, [nightly.id])
  expect(await runs.takeUnwatched(0)).toEqual([])
  await line.rows(`update vitalsync.runs set state = 'done' where id = $1`, [nightly.id])
  await recoverSentinels(context, 0)

  expect(await sentinels(line)).toEqual([])
  expect(await runs.takeUnwatched(0)).toEqual([])
})
