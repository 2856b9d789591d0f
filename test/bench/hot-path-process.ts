import { once } from 'node:events'
import { accountDigest } from '../../src/pipeline/upstream/client.ts'
import type { HotPath, HotPathMessage, HotPathTask } from './against.ts'
import { firstDay, pulledNames } from './canned.ts'
import { readCost, totalOf } from './cost.ts'
import { fetchTokens, fillOutbox } from './push.ts'
import { keepSettleTimes } from './reread-tags.ts'
import { fillWarehouse, jobsForAll, openSubject, people } from './subject.ts'

/** Measures one hot path for `against.ts`, whose request is the one argument, as JSON. */
async function ask(message: HotPathMessage): Promise<void> {
  process.send?.(message)
  await once(process, 'message')
}

async function measure(name: string, work: () => Promise<number>): Promise<void> {
  await ask({ settle: true })
  globalThis.gc?.()
  const [before, startedAt] = [readCost(process.ppid), performance.now()]
  const pieces = await work()
  const seconds = (performance.now() - startedAt) / 1000
  const us = totalOf(before, readCost(process.ppid)) / pieces
  await ask({ cost: { name, us, perSecond: pieces / seconds } })
}

async function pull(task: HotPathTask): Promise<void> {
  await ask({ set: { changed: false, changedEvery: 1, tags: false } })
  const subject = await openSubject({ ...task, concurrency: jobsForAll })
  const range = { from: firstDay(Date.now()), to: Date.now(), streams: pulledNames, again: true }
  await measure(`${task.path}, cold`, async () => (await subject.run('sync', { streams: pulledNames })).run.rowsRead)
  await ask({ set: { changed: true } })
  await measure(`${task.path}, again`, async () => (await subject.run('backfill', range)).run.rowsRead)
  await subject.close()
}

/** The third reading is measured: by then a tag is held for each window. */
async function readByTags(task: HotPathTask): Promise<void> {
  await ask({ set: { changed: false, changedEvery: 50, tags: true } })
  await keepSettleTimes(task.databaseUrl, accountDigest(task.upstreamUrl, 'bench'))
  const subject = await openSubject({ ...task, concurrency: jobsForAll })
  const range = { from: firstDay(Date.now()), to: Date.now(), streams: pulledNames, again: true }
  await subject.run('sync', { streams: pulledNames })
  await subject.run('backfill', range)
  await ask({ set: { changed: true } })
  await measure('tags', async () => (await subject.run('backfill', range)).run.requests)
  await subject.close()
}

async function push(task: HotPathTask): Promise<void> {
  await ask({ set: { changed: false, tags: false } })
  const subject = await openSubject({ ...task, inFlight: 64 })
  await fillOutbox(subject.pipeline, task.profiles)
  await fetchTokens(subject.pipeline)
  await measure('push', async () => (await subject.run('sync', { streams: [] })).run.itemsPushed)
  await subject.close()
}

const workOf = { pull, 'pull-postgres': pull, tags: readByTags, push } as const satisfies Record<HotPath, unknown>

const task = JSON.parse(process.argv[2] ?? '') as HotPathTask
await fillWarehouse(task.databaseUrl, people(task.profiles))
await workOf[task.path](task)
process.disconnect()
