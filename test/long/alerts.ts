/**
 * The alerts about the data, each provoked by its cause and seen by a real Prometheus:  npm run alerts
 *
 * Starts a sandbox, a worker, a scheduler and Prometheus with the rules of config/alerts.yml, in which every `for:` and every range is
 * a hundredth of its length; the bounds are those of the file. Hours are simulated by rows of the past: the warehouse is made 27 hours
 * older, as if everything had stood still since. The facts that processes ask for once a minute are asked at once. Each alert
 * must fire and resolve. Ends with exit code 1 when one does not. Takes about a minute; `npm run night` has the other alerts.
 */
import { execFile } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { DAY } from '../../src/base/time/units.ts'
import { scaleRules } from '../base/monitoring/scaled-rules.ts'
import { startCaller } from './caller.ts'
import { createChecklist, refuseOptions } from './checklist.ts'
import { startPrometheus } from './prometheus.ts'
import { startRefusingGateway } from './refusing-gateway.ts'
import { missANightly, openWatchedFleet } from './watched-fleet.ts'

refuseOptions('alerts')

const SCALE = 100
const isoDay = (daysAhead: number) => new Date(Date.now() + daysAhead * DAY).toISOString().slice(0, 10)
const names = [
  'NightlyLate',
  'LagOverADay',
  'RefusalsRising',
  'QuarantineRising',
  'SilentPeopleRising',
  'UpstreamDrift',
  'SilentDifferences',
  'DiskFilling',
  'ServiceFailing',
]
const agedBy27Hours = [
  "update vitalsync.ledger set read_at = read_at - interval '27 h', recent = '[]'",
  "update vitalsync.slots set slot_at = slot_at - interval '27 h', claimed_at = claimed_at - interval '27 h'",
  `update vitalsync.runs set started_at = started_at - interval '27 h', touched_at = touched_at - interval '27 h',
     ended_at = ended_at - interval '27 h'`,
  "update vitalsync.profiles set due_at = due_at - interval '27 h'",
]
/** Rows are lost after the nightly, which may read windows whole, and before its sentinel reads the windows that it has drawn. */
const losesRows = `
  create function public.lose_rows() returns trigger language plpgsql as $$ begin
    delete from vitalsync.scores;
    delete from vitalsync.comparisons;
    return null;
  end $$;
  create trigger lose_rows after insert on vitalsync.runs for each row when (new.kind = 'sentinel') execute function public.lose_rows()`
/** Eight people handed in logs at this time, and never since. */
const handedIn = (at: string) =>
  `with people as (update vitalsync.profiles set uploaded = true where id in (select id from vitalsync.profiles order by id limit 8) returning id)
   insert into vitalsync.log_days (profile_id, local_date, kind, minutes, first_at, last_at, device, first_parcel, last_parcel, revised)
   select id, (${at})::date, 'steps', repeat('1', 1440)::bit(1440), ${at}, ${at}, 'watch', 0, 0, false from people
   on conflict (profile_id, local_date, kind) do update set last_at = excluded.last_at`
const run = promisify(execFile)
const checklist = createChecklist()
const { say, until } = checklist
const closing: Array<() => unknown> = []

/** A disk of 4 MB under the data folder of the processes; undefined where this user may not mount one. */
async function mountSmallDisk(): Promise<string | undefined> {
  const folder = join(tmpdir(), `vitalsync-small-disk-${process.pid}`)
  await mkdir(folder)
  closing.push(() => rm(folder, { recursive: true }))
  const isMounted = await run('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', folder]).then(
    () => true,
    () => false,
  )
  if (!isMounted) return undefined
  closing.push(() => run('umount', [folder]))
  return folder
}

try {
  const disk = await mountSmallDisk()
  if (disk === undefined) say('LEFT OUT: DiskFilling, for this user may mount no disk')
  const gateway = startRefusingGateway(['/profile/score/', '/profile/biomarker/'])
  closing.push(() => gateway.close())
  const settings = { SECOND_READING_SECONDS: '0', SENTINEL_SHARE: '1', ...(disk ? { VITALSYNC_DATA: disk } : {}) }
  const fleet = await openWatchedFleet({ people: 14, days: 4, settings, throughGateway: gateway.open })
  closing.push(fleet.close)
  say('a fleet is there')
  const { warehouse, access } = fleet
  const hurry = setInterval(() => {
    warehouse.query("update vitalsync.shared_facts set due_at = '-infinity'").catch(() => undefined)
  }, 1000)
  closing.push(() => clearInterval(hurry))
  const setFaults = (rules: object[]) =>
    fetch(`${access.controlUrl}/faults`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${access.controlToken}` },
      body: JSON.stringify(rules),
    })

  const rules = scaleRules(await readFile(new URL('../../config/alerts.yml', import.meta.url), 'utf8'), SCALE)
  const started = { folder: fleet.folder, rules, every: '500ms', checklist }
  const { scrape, query, firing, fires, resolves, close } = await startPrometheus(started)
  closing.push(close)
  await missANightly(warehouse)
  const sites = {
    worker: await fleet.start('worker'),
    scheduler: await fleet.start('schedule'),
    service: new URL(access.url).host,
  }
  await scrape(sites)
  const nightsDone = (count: number) => async () =>
    (await warehouse.query("select 1 from vitalsync.runs where kind = 'nightly' and state = 'done'")).rowCount === count
  await until('a night has ended', nightsDone(1))
  for (const name of ['vitalsync_refusals', 'vitalsync_quarantine'])
    await until(`no ${name}`, async () => (await query(`sum(${name})`))[0]?.value[1] === '0')

  await until('no alert of these', async () => (await firing()).every((name) => !names.includes(name)))

  say('faults: refused windows, records that do not fit, a service that fails, a disk that is full')
  gateway.refuse(true)
  await setFaults([
    { name: 'odd-records', rate: 1, operations: ['trendsOf', 'archetypesOf', 'comparisonsOf'] },
    { name: 'error-500', rate: 0.5, operations: ['searchProfiles'] },
  ])
  const caller = startCaller(access)
  closing.push(() => caller.close())
  if (disk) await writeFile(join(disk, 'fills-it'), Buffer.alloc(3_900_000))
  const again = fleet.command('backfill', '--from', isoDay(-3), '--again')
  await fires('ServiceFailing')
  if (disk) await fires('DiskFilling')
  await again
  await fires('RefusalsRising')
  await fires('QuarantineRising')

  say('mended')
  gateway.refuse(false)
  await setFaults([])
  if (disk) await rm(join(disk, 'fills-it'))
  await fleet.command('failures', 'retry', '--all')
  await resolves('ServiceFailing')
  if (disk) await resolves('DiskFilling')

  say('eight people hand in no logs for nine days, and upstream has a release')
  await warehouse.query(handedIn("now() - interval '9 days'"))
  await fleet.command('profiles', 'silent') // which judges the silence of now
  await setFaults([{ name: 'drift-new-field', rate: 1, operations: ['scoresOf'] }])
  await fleet.command('backfill', '--from', isoDay(-3), '--again')
  await fires('SilentPeopleRising')
  await fires('UpstreamDrift')

  say('they are heard of, and the release is accepted')
  await warehouse.query(handedIn('now()'))
  await fleet.command('profiles', 'silent')
  await setFaults([])
  await fleet.command('drift', 'accept', '--all')
  await resolves('SilentPeopleRising')
  await resolves('UpstreamDrift')

  say('fault: nobody runs for 27 hours, and rows of the warehouse are lost')
  await fleet.kill('schedule')
  await fleet.kill('worker')
  for (const statement of [...agedBy27Hours, losesRows]) await warehouse.query(statement)
  sites.worker = await fleet.start('worker')
  await scrape(sites)
  await fires('NightlyLate')
  await fires('LagOverADay')

  say('a scheduler runs again')
  sites.scheduler = await fleet.start('schedule')
  await scrape(sites)
  await resolves('NightlyLate')
  await resolves('LagOverADay')
  await fires('SilentDifferences')
  await warehouse.query('drop function public.lose_rows cascade')
  await resolves('RefusalsRising')
  await resolves('QuarantineRising')

  say('31 days pass')
  await warehouse.query('update vitalsync.verified_windows set verified_on = verified_on - 31')
  await resolves('SilentDifferences')
} finally {
  for (const close of closing.toReversed()) await Promise.resolve(close()).catch((error: Error) => say(error.message))
}
checklist.end()
