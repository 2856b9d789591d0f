import { expect } from 'vitest'
import { JOB_FORM, type OrderKey } from '../../../src/pipeline/transfer/order.ts'
import { recordPage } from '../../support/record-orders.ts'
import { queueKinds, test } from '../../support/test-pipeline.ts'

const attempts = { attemptsMax: 3 }

for (const engine of queueKinds) {
  test(`orders of equal params are one job, orders of other params, jobs or profiles are others (${engine})`, async ({
    open,
  }) => {
    const { queue } = (await open(engine)).pipeline
    const first = { runId: '1', profileId: '1', job: 'sync-profile', params: { from: 1, to: 2 } }
    const orders = [
      first,
      { ...first, runId: '2', params: { to: 2, from: 1 } },
      { ...first, params: { from: 1, to: 3 } },
      { ...first, params: {} },
      { ...first, job: 'backfill-profile' },
      { ...first, profileId: '2' },
    ]

    for (const order of orders) await queue.enqueue('manual', attempts, [order])

    expect(await queue.backlog('manual')).toEqual({ waiting: 5, active: 0, delayed: 0 })
    expect(await queue.isIdle()).toBe(false)
  })

  test(`the jobs of a profile are removed from every lane, whatever the job, its params and its form (${engine})`, async ({
    open,
  }) => {
    const line = await open(engine)
    const [ada = '', bob = ''] = await line.addProfiles('ada', 'bob')
    const { queue, runs, context } = line.pipeline
    const run = await runs.create('sync', {})
    const keys: OrderKey[] = [
      { profileId: ada, job: 'sync-profile', params: {} },
      { profileId: ada, job: 'a-job-of-tomorrow', params: { streams: ['scores'] } },
      { profileId: bob, job: 'sync-profile', params: {} },
    ]
    for (const key of keys) {
      const own = await runs.create('sync', {})
      await recordPage(runs, own.id, [key])
    }
    const orders = keys.map((key) => ({ ...key, runId: run.id }))
    await queue.enqueue('nightly', attempts, orders)
    await queue.enqueue('manual', attempts, orders)

    // As the next version enqueues it, before a roll-back.
    const next = `sync-profile@${JOB_FORM + 1}.${ada}`
    await line.pipeline.engine
      .queue('manual')
      .add(
        'sync-profile',
        { runId: run.id, profileId: ada, params: {}, form: JOB_FORM + 1 },
        { deduplication: { id: next } },
      )

    expect(await context.forgetJobs(ada)).toBe(5)

    expect(await queue.backlog('nightly')).toMatchObject({ waiting: 1 })
    expect(await queue.backlog('manual')).toMatchObject({ waiting: 1 })
    expect(await context.forgetJobs(bob)).toBe(2)
    expect(await queue.isIdle()).toBe(true)
  })
}
