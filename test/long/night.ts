/**
 * A night with faults, seen by a real Prometheus:  npm run night
 *
 * Starts a sandbox, a scheduler, a worker and Prometheus with the rules of config/alerts.yml, their waits and bounds shortened to
 * seconds. Asks every panel of the dashboards for data, then provokes faults of the machinery one after the other, and waits
 * until the alerts fire and until they resolve; `npm run alerts` has the others. Ends with exit code 1 when one of this is not
 * seen. Takes about ten minutes.
 */
import { readFile } from 'node:fs/promises'
import { parse, stringify } from 'yaml'
import { grafanaBoards } from '../../config/grafana-boards.ts'
import { createChecklist, refuseOptions } from './checklist.ts'
import { startPrometheus } from './prometheus.ts'
import { missANightly, openWatchedFleet } from './watched-fleet.ts'

refuseOptions('night')

const checklist = createChecklist()
const { say, until } = checklist
const fleet = await openWatchedFleet({ people: 20, days: 5, settings: { SWEEP_CRON: '* * * * *' } })
const { warehouse, admin } = fleet
const closing: Array<() => Promise<unknown>> = [fleet.close]

try {
  await missANightly(warehouse)
  const sites = {
    worker: await fleet.start('worker'),
    scheduler: await fleet.start('schedule'),
    service: new URL(fleet.access.url).host,
  }

  // The waits and the long bounds of the rules, in seconds instead of minutes.
  const rules = parse(await readFile(new URL('../../config/alerts.yml', import.meta.url), 'utf8'))
  for (const { rules: list } of rules.groups)
    for (const rule of list) {
      if (rule.for) rule.for = '2s'
      rule.expr = rule.expr
        .replace(/\[(1h|15m|5m)\]/g, '[30s]')
        .replace('> 600', '> 50')
        .replace('> 300', '> 130')
    }
  const started = { folder: fleet.folder, rules: stringify(rules), every: '1s', checklist }
  const { scrape, query, fires, resolves, close } = await startPrometheus(started)
  closing.push(close)
  await scrape(sites)

  await until('all three are scraped', async () => (await query('sum(up)'))[0]?.value[1] === '3')
  await until(
    'the night ended',
    async () =>
      (await warehouse.query("select 1 from vitalsync.runs where kind = 'nightly' and state = 'done'")).rowCount === 1,
  )
  for (const { name, panels } of grafanaBoards)
    for (const { title, targets } of panels)
      for (const { expr } of targets)
        await until(`${name}: ${title}`, async () => (await query(expr.replaceAll('[5m]', '[1m]'))).length > 0)

  say('fault: no worker, while the sweep orders jobs')
  await fleet.kill('worker')
  await warehouse.query('update vitalsync.profiles set due_at = clock_timestamp()')
  await fires('NotReady')
  await fires('NothingClaimed')
  sites.worker = await fleet.start('worker')
  await scrape(sites)
  await resolves('NotReady')
  await resolves('NothingClaimed')

  say('fault: no scheduler')
  await fleet.kill('schedule')
  await fires('SlotMissed')
  sites.scheduler = await fleet.start('schedule')
  await scrape(sites)
  await resolves('SlotMissed')

  say('fault: upstream refuses the account')
  await warehouse.query(
    "update vitalsync.tokens set broken_reason = 'refused', broken_until = clock_timestamp() + interval '5 s' where profile_id is null",
  )
  await fires('RenewalFailing')
  await warehouse.query(
    'update vitalsync.tokens set broken_reason = null, broken_until = null where profile_id is null',
  )
  await resolves('RenewalFailing')

  say('fault: a clock that is off')
  const setClock = (seconds: number) =>
    warehouse.query(`
    create schema if not exists off;
    create or replace function off.clock_timestamp() returns timestamptz volatile language sql
      as $$ select pg_catalog.clock_timestamp() + interval '${seconds} s' $$;
    alter database warehouse set search_path = off, public, pg_catalog`)
  const reconnect = () =>
    admin.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = 'warehouse' and application_name = 'vitalsync'",
    )
  await setClock(8)
  await reconnect()
  await fires('ClockOff')
  await setClock(0)
  await resolves('ClockOff')
} finally {
  for (const close of closing.toReversed()) await close().catch((error: Error) => say(error.message))
}
checklist.end()
