import { Queue, Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { keyColumns } from '../../src/pipeline/transfer/stream.ts'
import { type PulledName, pulledNames } from './canned.ts'
import type { PlainPull } from './ceiling.ts'
import { plainPool } from './copy.ts'
import { cellsOf, columnsOf, type PlainRecord, pathOf, plainTables, streamOf } from './tables.ts'

const jobsAtOnce = 50

type NaiveJob = { name: PulledName; externalId: string }

/**
 * The program that one writes on the first day: a job per window, an upsert per record, a checkpoint per window. Gives records per
 * second.
 */
export async function runNaive(plain: PlainPull & { redisUrl: string }): Promise<number> {
  const pool = plainPool(plain.databaseUrl, jobsAtOnce)
  await pool.query(plainTables('naive', { keyed: true }))
  const connection = new Redis(plain.redisUrl, { maxRetriesPerRequest: null })
  const queue = new Queue<NaiveJob>('naive', { connection })
  const total = plain.externalIds.length * pulledNames.length
  let rows = 0
  let done = 0
  const finished = Promise.withResolvers<void>()

  const work = async ({ name, externalId }: NaiveJob) => {
    const answer = await fetch(plain.upstreamUrl + pathOf(name, externalId, plain.window), {
      headers: { authorization: 'account account-token' },
    })
    const records = (await answer.json()) as PlainRecord[]
    for (const record of records) await pool.query(upsertOf(name), cellsOf(name, externalId, record))
    await pool.query(
      `insert into naive.checkpoints values ($1, $2, $3)
       on conflict (external_id, stream) do update set read_to = excluded.read_to`,
      [externalId, name, plain.window.endAt],
    )
    rows += records.length
  }

  const startedAt = performance.now()
  const worker = new Worker<NaiveJob>('naive', async (job) => work(job.data), { connection, concurrency: jobsAtOnce })
  worker.on('completed', () => {
    done += 1
    if (done === total) finished.resolve()
  })
  worker.on('failed', (_, error) => finished.reject(error))
  for (const externalId of plain.externalIds) {
    await queue.addBulk(pulledNames.map((name) => ({ name: 'window', data: { name, externalId } })))
  }
  await finished.promise
  const seconds = (performance.now() - startedAt) / 1000
  await worker.close()
  await queue.obliterate({ force: true })
  await queue.close()
  connection.disconnect()
  await pool.end()
  return rows / seconds
}

function upsertOf(name: PulledName): string {
  const stream = streamOf(name)
  const columns = columnsOf(name)
  const key = ['external_id', ...keyColumns(stream).map((column) => column.name)]
  const rest = columns.filter((column) => !key.includes(column))
  return `insert into naive.${stream.table} (${columns}) values (${columns.map((_, index) => `$${index + 1}`)})
    on conflict (${key}) do update set ${rest.map((column) => `${column} = excluded.${column}`)}`
}
