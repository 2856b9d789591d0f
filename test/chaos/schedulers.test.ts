import { expect } from 'vitest'
import { DAY, MINUTE } from '../../src/base/time/units.ts'
import { farCron, soon } from '../support/fixtures.ts'
import { type Program, startProgram } from '../support/run-program.ts'
import { type TestPipeline, test } from '../support/test-pipeline.ts'
import { connect } from '../support/test-warehouse.ts'

/** Scheduler processes, with a nightly that was due a few minutes ago and ran the night before. */
async function openNight(line: TestPipeline) {
  const slotAt = new Date(Math.floor(Date.now() / MINUTE) * MINUTE - 5 * MINUTE)
  const before = new Date(slotAt.getTime() - DAY)
  await line.rows(`insert into vitalsync.slots (schedule, slot_at) values ('nightly', $1)`, [before])
  const env = {
    ...line.settings,
    LOG_LEVEL: 'info',
    NIGHTLY_CRON: `${slotAt.getUTCMinutes()} ${slotAt.getUTCHours()} * * *`,
    SWEEP_CRON: farCron(),
  }
  const programs: Program[] = []
  return {
    slotAt,
    start() {
      const program = startProgram(['schedule'], { cwd: '/tmp', env })
      programs.push(program)
      return program
    },
    async close() {
      for (const program of programs) program.kill('SIGKILL')
      await Promise.all(programs.map(({ ended }) => ended))
    },
  }
}

/** Locks a table, and counts the transactions that wait to write to it. */
async function holdTable(line: TestPipeline, table: string) {
  const blocker = await connect(line.config.databaseUrl ?? '')
  await blocker.query(`begin; lock vitalsync.${table} in exclusive mode`)
  const waiting = async () => {
    const text = `select 1 from pg_locks l join pg_class c on c.oid = l.relation where not l.granted and c.relname = $1
      and l.database = (select oid from pg_database where datname = current_database())`
    return (await line.rows(text, [table])).length
  }
  return { waiting, release: () => blocker.end() }
}

const slots = `select schedule, slot_at from vitalsync.slots where slot_at > now() - interval '1 hour'`
/** Postgres still carries out the statements of killed schedulers. */
const underWay = `select 1 from pg_stat_activity
  where datname = current_database() and state <> 'idle' and pid <> pg_backend_pid()`
const runs = `select kind, params ->> 'slotAt' as slot, enqueued::int, enqueued_all from vitalsync.runs`

for (const [point, table, waiters] of [
  ['when both reach for the slot', 'slots', 2],
  ['when one has it and is about to enqueue', 'orders', 1],
] as const) {
  test(`schedulers that are killed ${point} make the night once, whichever scheduler comes after`, async ({
    open,
    onTestFinished,
  }) => {
    const line = await open('postgres')
    await line.addProfiles('ada', 'bob', 'eve')
    const night = await openNight(line)
    onTestFinished(() => night.close())
    const held = await holdTable(line, table)
    const [first, second] = [night.start(), night.start()]
    await expect.poll(held.waiting, soon).toBe(waiters)

    first.kill('SIGKILL')
    if (table === 'orders') second.kill('SIGKILL')
    await first.ended
    await held.release()
    await expect.poll(() => line.rows(slots), soon).toEqual([{ schedule: 'nightly', slot_at: night.slotAt }])
    await expect.poll(() => line.rows(underWay), soon).toEqual([])
    // The run shows no life until its producer counts as dead.
    const past = `now() - interval '1 hour'`
    await line.rows(`update vitalsync.runs set touched_at = ${past}, held_until = ${past}`)
    const third = night.start()

    const slot = `${night.slotAt.toISOString().slice(0, 19)}Z`
    const whole = [{ kind: 'nightly', slot, enqueued: 3, enqueued_all: true }]
    await expect.poll(() => line.rows(runs), soon).toEqual(whole)
    third.kill('SIGKILL')
    await third.ended
    const last = night.start()
    await last.said(/schedule is ready/)
    expect(await line.rows(runs)).toEqual(whole)
    expect(await line.rows(slots)).toHaveLength(1)
    expect(await line.pipeline.queue.backlog('nightly')).toMatchObject({ waiting: 3, active: 0 })
  })
}
