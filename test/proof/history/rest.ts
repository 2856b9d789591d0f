import { setTimeout as wait } from 'node:timers/promises'
import { MINUTE, SECOND } from '../../../src/base/time/units.ts'
import { produceRun, recoverContextOf } from '../../../src/operations/produce-run.ts'
import { lanes } from '../../../src/pipeline/fleet/budget.ts'
import { recoverRuns } from '../../../src/pipeline/work/recover-run.ts'
import { type App, erase, type People, revive } from './app.ts'
import type { Damage } from './inject.ts'
import { comparedStreams } from './records.ts'
import type { SandboxControl } from './sandbox-control.ts'
import { STARTS_WITHIN_MS, until } from './until.ts'

/** How long after its end a day settles, by the settings of the fleet. */
export const SETTLE_SECONDS = 3600
/** A window that is wanted up to now is read a moment later. */
const SLACK_MS = 5 * MINUTE

/** The end of what has to be covered. */
export const settledUntilMs = (): number => Date.now() - SETTLE_SECONDS * SECOND - SLACK_MS

type Resting = {
  readonly damage: Damage
  readonly app: App
  readonly people: People
  readonly control: SandboxControl
}

const LOOK_EVERY_MS = 500
const ROUND_MS = 3 * SECOND
/** A fleet on two quiet cores needs two to ten. Counted, because a busy machine takes longer for each. */
const ROUNDS_MAX = 100

/** An erasure waits two minutes for a registration whose worker died. Requests take 20 seconds at most, two of them make a registration. */
const WAITED_LESS_SECONDS = 75

/**
 * The faults have ended. Operators repeat what was broken off and sync, round after round, until nothing is left; the fleet does
 * everything else. Waits of production that go by the clock are skipped: see `skipWaits`.
 */
export async function comeToRest({ damage, app, people, control }: Resting): Promise<void> {
  const beganMs = performance.now()
  await until(async () => (await control.control('PUT', '/faults', [])) !== undefined, STARTS_WITHIN_MS)
  await until(async () => (await control.control('DELETE', '/derivation')) !== undefined, STARTS_WITHIN_MS)
  await until(() => waitLess(app), STARTS_WITHIN_MS)
  await until(async () => (await readAgain(app, people)) === undefined, STARTS_WITHIN_MS)
  let left = 'nothing was looked at'
  let roundMs = Number.NEGATIVE_INFINITY
  let rounds = 0
  while (rounds < ROUNDS_MAX) {
    for (const [name, { isAcknowledged }] of people.erasing) if (!isAcknowledged) await erase(app, people, name)
    left = (await isDerived(control)) ? await workLeft(app, people) : 'derivation'
    // A sweep that begins a moment later would be found half done.
    if (left === '' && (await stopSchedulers(damage)) === 0) break
    if (performance.now() - roundMs > ROUND_MS) {
      roundMs = performance.now()
      rounds += 1
      // An engine may be just back: the next round repeats what fails.
      await skipWaits(app).catch(() => undefined)
      // A run is recovered when its lane is empty: none is begun meanwhile, unless something waits for a reading or a push.
      const waits = /uncovered|parcels|unregistered/.test(left)
      if (left !== '' && (waits || !left.includes('runs'))) await run(app, 'sync', {}).catch(() => undefined)
    }
    await wait(LOOK_EVERY_MS)
  }
  for (const name of people.erasing.keys()) await revive(app, people, name)
  const jobs = left === '' ? [] : await listJobs(app).catch((error: unknown) => [`list jobs: ${error}`])
  const tookMs = Math.round(performance.now() - beganMs)
  app.history.add({ kind: 'rest', reached: left === '', rounds, tookMs, left: [left, ...jobs].join('; ') })
}

/** Fails while Postgres recovers. */
async function waitLess({ pipeline: { pool } }: App): Promise<boolean> {
  await pool.query(
    `update vitalsync.profiles set registering_until = registering_until - interval '${WAITED_LESS_SECONDS} seconds'`,
  )
  return true
}

const isDerived = ({ control }: SandboxControl): Promise<boolean> =>
  control('POST', '/derived').then(
    ({ derived }) => derived === true,
    () => false,
  )

/** Returns how many there were still. */
async function stopSchedulers({ fleet }: Damage): Promise<number> {
  const schedulers = fleet.members.map(({ process }) => process).filter(({ name }) => name.startsWith('scheduler'))
  const running = schedulers.filter((scheduler) => scheduler.pid() !== undefined)
  await Promise.all(schedulers.map((scheduler) => scheduler.close()))
  return running.length
}

/** How long a run may be silent here; in production two minutes. */
const SILENT_MS = 3 * SECOND

/**
 * Does now what schedulers do every two minutes, and what a refused window and a job that failed wait for longer: recovers
 * runs, reads again, tries again.
 */
async function skipWaits({ pipeline, config }: App): Promise<void> {
  await pipeline.pool.query('update vitalsync.refusals set next_try_at = now()')
  for (const lane of lanes) await pipeline.engine.queue(lane).promoteJobs()
  await recoverRuns(recoverContextOf({ pipeline, config, signal: AbortSignal.timeout(MINUTE) }), SILENT_MS)
}

/** Another app changed their days, and the fleet did not learn of it: an operator has these people read again. */
async function readAgain(app: App, people: People): Promise<void> {
  const names = [...people.revisedElsewhere].filter((name) => people.living.has(name))
  if (names.length === 0) return
  const found = await Promise.all(names.map((name) => app.pipeline.profiles.findId(name)))
  const profileIds = found.flatMap((one) => one?.profileId ?? [])
  await run(app, 'backfill', { from: app.historyFromMs, to: Date.now(), profileIds, again: true })
}

async function run({ pipeline, config }: App, kind: string, params: Record<string, unknown>): Promise<void> {
  const signal = AbortSignal.timeout(MINUTE)
  await produceRun({ pipeline, config, signal }, await pipeline.runs.create(kind, params), { untilAll: true })
}

/** The jobs in the queue, for a reader who asks why the fleet did not come to rest. */
async function listJobs({ pipeline }: App): Promise<string[]> {
  const texts: string[] = []
  for (const lane of lanes) {
    for (const state of ['active', 'delayed', 'waiting'] as const) {
      for (const job of await pipeline.engine.queue(lane).getJobs([state])) {
        const seconds = Math.round(((job.processedOn ?? job.timestamp) - Date.now()) / SECOND)
        const { runId, profileId } = job.data
        texts.push(
          `${lane} ${job.name} of profile ${profileId}, run ${runId}: ${state}, ${-seconds} s after its start, delay ${job.delay} ms`,
        )
      }
    }
  }
  return texts
}

/** Empty when nothing is left. */
async function workLeft({ pipeline, historyFromMs }: App, { erasing }: People): Promise<string> {
  const { rows } = await pipeline.pool.query<Record<string, number>>(
    `select (select count(*) from vitalsync.runs where state = 'running')::int as runs,
       (select count(*) from vitalsync.orders)::int as orders,
       (select count(*) from vitalsync.parcels)::int as parcels,
       (select count(*) from vitalsync.refusals)::int as refusals,
       (select count(*) from vitalsync.failures)::int as failures,
       (select count(*) from vitalsync.profiles where state = 'new')::int as unregistered,
       (select count(*) from vitalsync.ledger l join vitalsync.profiles p on p.id = l.profile_id
        where l.stream = any($1) and p.state = 'active' and not l.covered @> tstzrange(
          to_timestamp($2::float8 / 1000), to_timestamp($3::float8 / 1000)))::int as uncovered`,
    [comparedStreams.map(({ name }) => name), historyFromMs, settledUntilMs()],
  )
  const erasures = [...erasing.values()].filter(({ isAcknowledged }) => !isAcknowledged).length
  const left = Object.entries({ ...rows[0], erasures }).filter(([, count]) => count > 0)
  return left.map(([what, count]) => `${count} ${what}`).join(', ')
}
