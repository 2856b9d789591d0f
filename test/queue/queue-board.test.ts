import { expect } from 'vitest'
import { openQueueBoard } from '../../src/queue/queue-board.ts'
import { queueKinds, test } from '../support/test-pipeline.ts'

const HOUR_MS = 3_600_000
const QUEUES = '/api/queues'
const queueName = 'vitalsync-manual-1'

for (const kind of queueKinds) {
  test(`the board shows the jobs of a lane in each part, and promotes and cleans them away for an actor alone (${kind})`, async ({
    open,
  }) => {
    const { engine } = (await open(kind, { QUEUE_PARTS: '2' })).pipeline
    const board = await openQueueBoard(engine)
    const ask = async (method: string, path: string, params: Record<string, string> = {}, mayAct = true) => {
      const route = board.routes.find((one) => one.method === method && one.path === path)
      if (!route) throw new Error(`ask the board: there is no ${method} ${path}`)
      const request = { params: { queueName, ...params }, query: { activeQueue: queueName, page: '1' }, body: {} }
      return route.answer(request, mayAct)
    }
    const queue = engine.queue('manual', 1)
    const add = async (profileId: string) =>
      (await queue.add('sync-profile', { profileId } as never, { delay: HOUR_MS })).id ?? ''
    const [promoted, cleaned] = [await add('1'), await add('2')]

    const shown = await ask('GET', QUEUES)
    expect(shown.status).toBe(200)
    const { queues } = JSON.parse(JSON.stringify(shown.body))
    expect(queues).toHaveLength(6)
    expect(queues).toContainEqual(
      expect.objectContaining({ name: queueName, counts: expect.objectContaining({ delayed: 2 }) }),
    )

    const job = '/api/queues/:queueName/:jobId'
    expect((await ask('PUT', `${job}/clean`, { jobId: cleaned }, false)).status).toBe(405)
    expect((await ask('PUT', `${job}/clean`, { jobId: cleaned })).status).toBeLessThan(300)
    expect((await ask('PUT', `${job}/promote`, { jobId: promoted })).status).toBeLessThan(300)
    expect(await queue.getJobCounts('waiting', 'delayed')).toEqual({ waiting: 1, delayed: 0 })
    expect((await queue.getJob(promoted))?.data).toMatchObject({ profileId: '1' })
  })
}
