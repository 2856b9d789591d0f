import { HOUR, MINUTE } from '../../../base/time/units.ts'
import {
  delayHours,
  judgeUploads,
  type KindUploads,
  type PersonUploads,
  type SubjectSilence,
  silenceRules,
} from '../../ledger/silence.ts'
import { binaryColumn } from '../postgres/binary-format.ts'
import { epochMsSql } from '../postgres/sql-time.ts'
import { type Pool, pipelined, type Tx, transaction } from '../postgres/warehouse-pool.ts'

/** Imports of these people wait for the transaction. */
const PEOPLE_AT_ONCE = 100

/**
 * Brings `vitalsync.silence` up to date: the habits of all who handed in logs since, then who has become silent meanwhile. Safe in several
 * processes at once, and to run again: it depends on the evidence and the time alone.
 */
export async function judgeSilence(pool: Pool, signal?: AbortSignal): Promise<void> {
  const { rows } = await pool.query<{ ids: string | null }>(dueQuery)
  const ids = rows[0]?.ids?.split(',') ?? []
  for (let at = 0; at < ids.length; at += PEOPLE_AT_ONCE) {
    signal?.throwIfAborted()
    for (const part of pool.division.split(ids.slice(at, at + PEOPLE_AT_ONCE), (id) => id))
      await transaction(pool, (tx) => judgePeople(tx, part))
  }
  await markStopped(pool)
  await judgeUpstream(pool)
}

/**
 * People who handed in logs, but those at rest: a day has not passed since the upload that is known of them, nothing of theirs is silent, and
 * without this upload nothing would be yet. To read everybody's evidence each hour would take ten times as long.
 */
const dueQuery = `
  select string_agg(p.id::text, ',' order by p.id) as ids
  from vitalsync.profiles p left join (
    select profile_id, max(last_at) as last_at, min(silent_from) as silent_from, bool_or(state is not null) as is_silent
    from vitalsync.silence where subject <> 'upstream' group by profile_id) s on s.profile_id = p.id
  where p.uploaded and (s.profile_id is null or s.is_silent or s.silent_from <= now() or s.last_at <= now() - interval '1 day')`

async function judgePeople(tx: Tx, candidates: readonly string[]): Promise<void> {
  const { rows: locked } = await tx.query<{ id: string }>(
    'select id from vitalsync.profiles where id = any($1::int8[]) and uploaded order by id for no key update skip locked',
    [candidates],
  )
  const ids = locked.map(({ id }) => id)
  if (ids.length === 0) return
  const uploads = await readUploads(tx, ids)
  const judged = [...uploads].flatMap(([profileId, person]) =>
    judgeUploads(person).map((silence) => ({ profileId, ...silence })),
  )
  if (judged.length > 0) await writeSilence(tx, judged)
  await tx.query('update vitalsync.profiles set uploaded = false where id = any($1::int8[])', [ids])
}

type ReadKind = Omit<KindUploads, 'hours'> & {
  readonly profileId: string
  readonly days: readonly number[]
  readonly firstMinutes: readonly number[]
  readonly lastHours: readonly number[]
}

/** One statement: the evidence of a person is spread over hundreds of pages. */
async function readUploads(tx: Tx, ids: readonly string[]): Promise<Map<string, PersonUploads>> {
  const since1970 = (instant: string, seconds: number) => `floor(date_part('epoch', ${instant}) / ${seconds})::int`
  const { rows } = await tx.query<ReadKind>({
    name: 'read uploads',
    text: `select d.profile_id as "profileId", d.kind, max(d.local_date) - date '1970-01-01' as "lastDay", ${epochMsSql('max(d.last_at)')} as "lastAtMs",
        (array_agg(d.device order by d.last_at desc, d.device desc))[1] as device, array_agg(d.local_date - date '1970-01-01') as days,
        array_agg(${since1970('d.first_at', 60)}) as "firstMinutes", array_agg(${since1970('d.last_at', 3600)}) as "lastHours"
      from vitalsync.log_days d where d.profile_id = any($1::int8[])
        and d.local_date > (now() at time zone 'UTC')::date - ${silenceRules.daysBefore}
      group by d.profile_id, d.kind`,
    values: [ids],
  })
  const people = Map.groupBy(rows, ({ profileId }) => profileId)
  return new Map([...people].map(([id, kinds]) => [id, { kinds: kinds.map(kindOf), delays: delaysOf(kinds) }]))
}

const kindOf = ({ profileId, days, firstMinutes, lastHours, ...kind }: ReadKind): KindUploads => ({
  ...kind,
  hours: [...firstMinutes.map((minute) => Math.floor(minute / 60)), ...lastHours],
})

/** The delays of the days, in their order, each from the first upload of any kind. */
function delaysOf(kinds: readonly ReadKind[]): number[] {
  const firstMs = new Map<number, number>()
  for (const { days, firstMinutes } of kinds)
    for (const [index, day] of days.entries())
      firstMs.set(day, Math.min(firstMs.get(day) ?? Number.POSITIVE_INFINITY, (firstMinutes[index] ?? 0) * MINUTE))
  return [...firstMs].toSorted(([a], [b]) => a - b).map(([day, ms]) => delayHours(day, ms))
}

type PersonSilence = SubjectSilence & { readonly profileId: string }

/**
 * A person who was silent as a whole is heard of again: the row gets the state of what has come. The row of a kind whose logs are all older
 * than a habit goes: the person had nothing of it for as long.
 */
async function writeSilence(tx: Tx, judged: readonly PersonSilence[]): Promise<void> {
  const ids = [...new Set(judged.map(({ profileId }) => profileId))]
  const { rows: before } = await tx.query<{ profileId: string; subject: string; state: string | null }>({
    name: 'read silence',
    text: 'select profile_id as "profileId", subject, state from vitalsync.silence where profile_id = any($1::int8[])',
    values: [ids],
  })
  const former = new Map(before.map(({ profileId, subject, state }) => [`${profileId} ${subject}`, state]))
  const writing = tx.query({
    name: 'write silence',
    text: `insert into vitalsync.silence as s (profile_id, subject, last_at, last_day, device, intervals, usual_hours, long_hours, silent_from, state)
      select profile_id, subject, last_at, last_day, device, intervals::smallint[], usual_hours, long_hours, silent_from, state
      from unnest($1::int8[], $2::text[], $3::timestamptz[], $4::date[], $5::text[], $6::text[], $7::int4[], $8::int4[], $9::timestamptz[], $10::text[])
        as i(profile_id, subject, last_at, last_day, device, intervals, usual_hours, long_hours, silent_from, state)
      on conflict (profile_id, subject) do update set last_at = excluded.last_at, last_day = excluded.last_day, device = excluded.device,
        intervals = excluded.intervals, usual_hours = excluded.usual_hours, long_hours = excluded.long_hours,
        silent_from = excluded.silent_from, state = excluded.state`,
    values: [
      binaryColumn('int8', judged, ({ profileId }) => profileId),
      binaryColumn('text', judged, ({ subject }) => subject),
      binaryColumn('timestamptz', judged, ({ lastAtMs }) => Math.round(lastAtMs * 1000)),
      binaryColumn('date', judged, ({ lastDay }) => lastDay * 24 * HOUR),
      binaryColumn('text', judged, ({ device }) => device),
      binaryColumn('text', judged, ({ intervals }) => `{${intervals.join(',')}}`),
      binaryColumn('int4', judged, ({ usualHours }) => usualHours ?? null),
      binaryColumn('int4', judged, ({ longHours }) => longHours ?? null),
      binaryColumn('timestamptz', judged, ({ lastAtMs, silentAfterHours }) =>
        silentAfterHours === undefined ? null : Math.round((lastAtMs + silentAfterHours * HOUR) * 1000),
      ),
      binaryColumn('text', judged, ({ state }) => state ?? null),
    ],
  })
  const kept = new Set(judged.map(({ profileId, subject }) => `${profileId} ${subject}`))
  const outdated = before.filter(
    ({ profileId, subject }) => subject !== 'upstream' && !kept.has(`${profileId} ${subject}`),
  )
  const states = [...judged, ...outdated.map(({ profileId, subject }) => ({ profileId, subject, state: undefined }))]
  const changes = states.flatMap(({ profileId, subject, state = null }) => {
    const from = former.get(`${profileId} ${subject}`) ?? null
    return from === state ? [] : [{ profileId, subject, from, to: state }]
  })
  await pipelined<unknown>([writing, ...deleteSilence(tx, outdated), ...writeEvents(tx, changes)])
}

const deleteSilence = (tx: Tx, outdated: ReadonlyArray<{ readonly profileId: string; readonly subject: string }>) =>
  outdated.length === 0
    ? []
    : [
        tx.query({
          name: 'delete silence',
          text: `delete from vitalsync.silence s using unnest($1::int8[], $2::text[]) as i(profile_id, subject)
            where s.profile_id = i.profile_id and s.subject = i.subject and s.profile_id = any($1::int8[])`,
          values: [outdated.map(({ profileId }) => profileId), outdated.map(({ subject }) => subject)],
        }),
      ]

type Change = {
  readonly profileId: string
  readonly subject: string
  readonly from: string | null
  readonly to: string | null
}

const writeEvents = (tx: Tx, changes: readonly Change[]) =>
  changes.length === 0
    ? []
    : [
        tx.query({
          name: 'write silence events',
          text: `insert into vitalsync.silence_events (profile_id, subject, at, from_state, to_state)
            select profile_id, subject, statement_timestamp(), from_state, to_state
            from unnest($1::int8[], $2::text[], $3::text[], $4::text[]) as i(profile_id, subject, from_state, to_state)
            on conflict do nothing`,
          values: [
            binaryColumn('int8', changes, ({ profileId }) => profileId),
            binaryColumn('text', changes, ({ subject }) => subject),
            binaryColumn('text', changes, ({ from }) => from),
            binaryColumn('text', changes, ({ to }) => to),
          ],
        }),
      ]

const CHANGES_AT_ONCE = 1000

/** People whose silence has become unusual. An upload that is not yet taken in is one all the same. */
const stoppedQuery = `
  select s.profile_id as "profileId", s.subject, s.state as "from", 'all_stopped' as "to"
  from vitalsync.silence s join vitalsync.profiles p on p.id = s.profile_id and p.state <> 'gone' and not p.uploaded
  where s.subject = 'all' and s.silent_from <= now() and s.state is distinct from 'all_stopped'
  limit ${CHANGES_AT_ONCE}`

async function markStopped(pool: Pool): Promise<void> {
  for (;;) {
    const { rows: found } = await pool.query<Change>(stoppedQuery)
    for (const part of pool.division.split(found, ({ profileId }) => profileId))
      await transaction(pool, (tx) => changeStates(tx, part))
    if (found.length < CHANGES_AT_ONCE) return
  }
}

/** A row that another process has changed meanwhile is left as it is. */
async function changeStates(tx: Tx, changes: readonly Change[]): Promise<void> {
  const { rows: changed } = await tx.query<{ profileId: string; subject: string }>({
    name: 'change silence',
    text: `update vitalsync.silence s set state = i.to_state
      from unnest($1::int8[], $2::text[], $3::text[], $4::text[]) as i(profile_id, subject, from_state, to_state)
      where s.profile_id = i.profile_id and s.subject = i.subject and s.profile_id = any($1::int8[])
        and s.state is not distinct from i.from_state and (s.subject <> 'all' or s.silent_from <= now())
      returning s.profile_id as "profileId", s.subject`,
    values: [
      changes.map(({ profileId }) => profileId),
      changes.map(({ subject }) => subject),
      changes.map(({ from }) => from),
      changes.map(({ to }) => to),
    ],
  })
  const done = new Set(changed.map(({ profileId, subject }) => `${profileId} ${subject}`))
  await pipelined<unknown>(
    writeEvents(
      tx,
      changes.filter(({ profileId, subject }) => done.has(`${profileId} ${subject}`)),
    ),
  )
}

/** People whose newest reading is hours older than the median. While the whole fleet stands still, nobody is. */
const laggingQuery = `
  with each as materialized (
    select l.profile_id, max(l.read_at) as read_at from vitalsync.ledger l join vitalsync.profiles p on p.id = l.profile_id
    where p.state = 'active' and l.read_at is not null group by l.profile_id
  )
  select profile_id as "profileId", ${epochMsSql('read_at')} as "lastAtMs" from each
  where read_at < (select percentile_disc(0.5) within group (order by read_at) from each) - interval '${silenceRules.upstreamHours} hours'`

async function judgeUpstream(pool: Pool): Promise<void> {
  const [{ rows: lagging }, { rows: stopped }] = await Promise.all([
    pool.query<Lagging>(laggingQuery),
    pool.query<Pick<Lagging, 'profileId'>>(
      `select profile_id as "profileId" from vitalsync.silence where subject = 'upstream' and state = 'upstream_stopped'`,
    ),
  ])
  const [before, now] = [stopped, lagging].map((people) => new Set(people.map(({ profileId }) => profileId)))
  const begun = lagging.filter(({ profileId }) => !before?.has(profileId))
  const ended = stopped.filter(({ profileId }) => !now?.has(profileId))
  for (const part of pool.division.split([...begun, ...ended], ({ profileId }) => profileId))
    for (let at = 0; at < part.length; at += CHANGES_AT_ONCE)
      await transaction(pool, (tx) => changeUpstream(tx, part.slice(at, at + CHANGES_AT_ONCE)))
}

type Lagging = { readonly profileId: string; readonly lastAtMs: number }

/** Without `lastAtMs` upstream answers the person again. */
async function changeUpstream(tx: Tx, changes: ReadonlyArray<Pick<Lagging, 'profileId'> & Partial<Lagging>>) {
  const begun = changes.filter(({ lastAtMs }) => lastAtMs !== undefined)
  await tx.query({
    name: 'add upstream silence',
    text: `insert into vitalsync.silence (profile_id, subject, last_at)
      select profile_id, 'upstream', last_at from unnest($1::int8[], $2::timestamptz[]) as i(profile_id, last_at)
      on conflict (profile_id, subject) do update set last_at = excluded.last_at`,
    values: [
      binaryColumn('int8', begun, ({ profileId }) => profileId),
      binaryColumn('timestamptz', begun, ({ lastAtMs = 0 }) => Math.round(lastAtMs * 1000)),
    ],
  })
  const [silent, answered] = ['upstream_stopped', null]
  await changeStates(
    tx,
    changes.map(({ profileId, lastAtMs }) => ({
      ...{ profileId, subject: 'upstream' },
      ...(lastAtMs === undefined ? { from: silent, to: answered } : { from: answered, to: silent }),
    })),
  )
}
