import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { queuesInUse } from '../../src/pipeline/queue/queues-in-use.ts'
import { soon } from '../support/fixtures.ts'
import { insertPeople, peopleNames } from '../support/insert-people.ts'
import { ownQueue } from '../support/own-redis.ts'
import { queueKinds, type TestPipeline, test } from '../support/test-pipeline.ts'

const program = fileURLToPath(new URL('producer-child.ts', import.meta.url))

async function startProducer(line: TestPipeline, onTestFinished: (end: () => Promise<void>) => void) {
  const child = spawn(process.execPath, [program, JSON.stringify(line.settings)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  let printed = ''
  const note = (text: Buffer) => {
    printed += text
  }
  child.stdout.on('data', note)
  child.stderr.on('data', note)
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  await expect.poll(() => printed, soon).toContain('ready')
  return { child, printed: () => printed }
}

const BUCKETS = 4
const PEOPLE = 5000 // two pages in each bucket

/** Producers stop before the second page of each bucket until `release`. A lock would be given up after its timeout. */
async function holdSecondPages(line: TestPipeline) {
  await line.rows(`create table held_pages (held boolean)`)
  await line.rows(`insert into held_pages values (true)`)
  await line.rows(`create function hold_page() returns trigger language plpgsql as $$ begin
      while exists (select from held_pages) and exists (select from vitalsync.run_buckets b
          where b.run_id = new.run_id and b.enqueued_to > 0 and hashint8(new.profile_id) between b.first_hash and b.last_hash) loop
        perform pg_sleep(0.02);
      end loop;
      return new;
    end $$`)
  await line.rows(
    'create trigger hold_page before insert on vitalsync.orders for each row execute function hold_page()',
  )
  const waiting = async () =>
    (
      await line.rows(
        `select 1 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep' and query like '%run_buckets%'`,
      )
    ).length
  return { waiting, release: () => line.rows('delete from held_pages') }
}

/** The people of the jobs that wait, in order. */
async function orderedPeople({ pipeline: { engine } }: TestPipeline): Promise<number[]> {
  const queues = await queuesInUse(engine, 'nightly')
  const jobs = await Promise.all(queues.map((queue) => queue.getJobs(['waiting', 'prioritized', 'delayed'])))
  return jobs
    .flat()
    .map(({ data }) => Number(data.profileId))
    .sort((a, b) => a - b)
}

for (const engine of queueKinds) {
  test(`producers that are killed and frozen in mid-run are replaced, nobody is left out or ordered twice (${engine})`, async ({
    open,
    onTestFinished,
    skip,
  }) => {
    const line = await open(engine, {
      WAREHOUSE_SHARDS: String(BUCKETS),
      STATEMENT_SECONDS: '300',
      ...(await ownQueue(engine, { skip, onTestFinished })),
    })
    await insertPeople(line.pipeline.pool, peopleNames(PEOPLE), { state: `'active'` })
    const ids = (await line.rows('select id from vitalsync.profiles')).map(({ id }) => Number(id))
    const held = await holdSecondPages(line)
    const producers = await Promise.all([0, 1, 2].map(() => startProducer(line, onTestFinished)))
    const [killed, frozen] = producers
    const run = await line.pipeline.runs.create('nightly', {})
    const now = () => line.pipeline.runs.get(run.id)

    // Each has recorded nothing of its page yet, and Postgres records it after they are gone.
    await expect.poll(held.waiting, soon).toBe(3)
    killed?.child.kill('SIGKILL')
    frozen?.child.kill('SIGSTOP')
    const successor = await startProducer(line, onTestFinished)
    await expect.poll(held.waiting, soon).toBe(4)
    expect(await now()).toMatchObject({ enqueued: BUCKETS * 1000, enqueuedAll: false })
    await held.release()
    await expect
      .poll(async () => (await line.rows('select from vitalsync.run_buckets where held_by is not null')).length, soon)
      .toBeLessThanOrEqual(2)
    await line.rows(`update vitalsync.run_buckets set held_until = now() - interval '1 second'`)

    await expect.poll(now, soon).toMatchObject({ enqueued: PEOPLE, enqueuedAll: true, state: 'running' })
    await expect.poll(() => orderedPeople(line), soon).toEqual(ids)
    frozen?.child.kill('SIGCONT')
    await expect.poll(() => frozen?.printed(), soon).toContain('enqueued')

    expect(await orderedPeople(line)).toEqual(ids)
    expect(await now()).toMatchObject({ enqueued: PEOPLE, enqueuedAll: true })
    expect(await line.rows('select count(*)::int as n from vitalsync.orders')).toEqual([{ n: PEOPLE }])
    for (const { printed } of [...producers.slice(1), successor]) expect(printed()).toContain('enqueued')
  })
}
