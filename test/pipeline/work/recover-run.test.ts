import { expect, test } from 'vitest'
import { nightly } from '../../../jobs/nightly.ts'
import type { Run } from '../../../src/pipeline/warehouse/runs/stored-runs.ts'
import type { Backlog } from '../../../src/pipeline/work/producer.ts'
import { recoverRun, recoverRuns } from '../../../src/pipeline/work/recover-run.ts'

const empty: Backlog = { waiting: 0, active: 0, delayed: 0 }
const run: Run = {
  id: '7',
  kind: 'nightly',
  params: {},
  form: 1,
  state: 'running',
  startedAt: new Date(0),
  endedAt: null,
  enqueued: 2,
  enqueuedAll: true,
  afterId: '2',
  done: 1,
  failed: 0,
  refused: 0,
  requests: 0,
  rowsRead: 0,
  rowsWritten: 0,
  unchanged: 0,
  itemsPushed: 0,
  itemsPushedElsewhere: 0,
}

type Stage = { backlog?: Backlog; open?: string[]; silent?: Run[]; unproduced?: Run[] }

/** A context that notes what is done with which run. */
function stage({ backlog = empty, open = [], silent = [], unproduced = [] }: Stage) {
  const acts: string[] = []
  const context = {
    producers: [nightly],
    backlog: async () => backlog,
    produce: async ({ id }: Run) => void acts.push(`produce ${id}`),
    runs: {
      async listSilent(idleMs: number) {
        acts.push(`idle for ${idleMs}`)
        return silent
      },
      listUnproduced: async () => unproduced,
      listOpenOrders: async () => ({
        orders: open.map((profileId) => ({ profileId, job: 'sync-profile', params: {} })),
        lastId: open.at(-1) ?? '0',
      }),
      end: async (id: string, state: string) => void acts.push(`end ${id} ${state}`),
    },
  }
  return { context, acts }
}

test('a run with open orders and an empty lane is produced again', async () => {
  const { context, acts } = stage({ open: ['1'] })
  await recoverRun(context, run)
  expect(acts).toEqual(['produce 7'])
})

const states: ReadonlyArray<keyof Backlog> = ['waiting', 'active', 'delayed']

test.for([...states.map((state) => [state]), ['waiting', 'active'], ['waiting', 'delayed']])(
  'a lane with jobs that are %j has lost none',
  async (some) => {
    const jobs = Object.fromEntries(some.map((state) => [state, 1]))
    const { context, acts } = stage({ open: ['1'], backlog: { ...empty, ...jobs } })
    await recoverRun(context, run)
    expect(acts).toEqual([])
  },
)

test('a run without open orders has ended', async () => {
  const { context, acts } = stage({})
  await recoverRun(context, run)
  expect(acts).toEqual(['end 7 done'])
})

test('a run that is still being produced is not ended, though it has no open order yet', async () => {
  const { context, acts } = stage({})
  await recoverRun(context, { ...run, enqueuedAll: false })
  expect(acts).toEqual([])
})

test('a run of a kind that only an older version knows is ended, whatever it ordered', async () => {
  const { context, acts } = stage({ open: ['1'], backlog: { ...empty, waiting: 3 } })
  await recoverRun(context, { ...run, kind: 'monthly' })
  expect(acts).toEqual(['end 7 done'])
})

test('runs of one lane that lost their jobs together are recovered together', async () => {
  const { context, acts } = stage({ open: ['1'], silent: [run, { ...run, id: '8' }] })
  const backlog = async () => ({ ...empty, waiting: acts.filter((act) => act.startsWith('produce')).length })
  await recoverRuns({ ...context, backlog }, 60_000)
  expect(acts).toEqual(['idle for 60000', 'produce 7', 'produce 8'])
})

test('runs that showed no life are recovered, and runs whose producer died are produced further', async () => {
  const unproduced = [{ ...run, id: '9', enqueuedAll: false }]
  const { context, acts } = stage({ open: ['1'], silent: [run, { ...run, id: '8' }], unproduced })
  await recoverRuns(context, 60_000)
  expect(acts).toEqual(['idle for 60000', 'produce 7', 'produce 8', 'produce 9'])
})
