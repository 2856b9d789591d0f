import { expect, test } from 'vitest'
import { backfill } from '../../../jobs/backfill.ts'
import { nightly } from '../../../jobs/nightly.ts'
import { sweep } from '../../../jobs/sweep.ts'
import { sync } from '../../../jobs/sync.ts'
import { Problem } from '../../../src/base/errors.ts'
import { paramsText } from '../../../src/pipeline/transfer/order.ts'
import type { Run } from '../../../src/pipeline/warehouse/runs/stored-runs.ts'
import { type Producer, produce } from '../../../src/pipeline/work/producer.ts'

const jobParams = (producer: Producer, params: object) => producer.jobParams(producer.params.parse(params))

test('a job gets what its run says of streams and range, and nothing of profiles or slots', () => {
  const profileIds = ['1', '2']
  const range = { from: 1, to: 2 }
  expect(jobParams(nightly, { slotAt: '2026-03-10T03:00:00Z' })).toStrictEqual({})
  expect(jobParams(sweep, {})).toStrictEqual({})
  expect(jobParams(sync, { profileIds })).toStrictEqual({})
  expect(jobParams(sync, { profileIds, streams: ['scores'] })).toStrictEqual({ streams: ['scores'] })
  expect(jobParams(backfill, { ...range, profileIds, again: false })).toStrictEqual(range)
  expect(jobParams(backfill, { ...range, streams: ['scores'], again: true })).toStrictEqual({
    ...range,
    streams: ['scores'],
    again: true,
  })
})

test('the params of a job are the payload that it reads, beside the profile', () => {
  for (const [producer, params] of [
    [nightly, {}],
    [sweep, {}],
    [sync, { streams: ['scores'] }],
    [backfill, { from: 1, to: 2, streams: ['scores'], again: true }],
  ] as const) {
    const jobData = jobParams(producer, params)
    const payload = { profileId: '1', ...jobData }
    expect(producer.job.payload.parse(payload)).toEqual(payload)
    expect(paramsText(jobData)).toBe(paramsText(JSON.parse(JSON.stringify(jobData))))
  }
})

test('a run whose params do not fit its producer is refused before anything is enqueued, with the fault', async () => {
  const run = { id: '7', kind: 'backfill', params: { from: 'yesterday', to: 2 } } as unknown as Run
  const producing = produce(backfill, run, {} as never)
  await expect(producing).rejects.toThrow(Problem)
  await expect(producing).rejects.toThrow(/^produce run 7: its params are not those of a backfill: .*\n.*from/)
})
