import type pg from 'pg'

const ms = (instant: string) => `(extract(epoch from nullif(${instant}, '-infinity')) * 1000)::float8`
const pairs = (multirange: string) =>
  `(select json_agg(json_build_array(${ms('lower(r)')}, ${ms('upper(r)')}) order by lower(r)) from unnest(${multirange}) r)`
/** The hashes that a suspicious reading lacks are a set: they come in no order. */
const suspicions = `(select json_agg(json_build_array(d->0, d->1, d->2,
    (select json_agg(h order by h::text::int8) from jsonb_array_elements(d->3) h)) order by n)
  from jsonb_array_elements(doubts) with ordinality as s(d, n))`
const list = (fields: string, from: string) => `(select json_agg(json_build_array(${fields})) from ${from})`

const recordsOf = (table: string, columns: { start: string; end: string; value: string }) => `
  select '${table}' as stream, body, ${ms(columns.start)} as start_ms, ${ms(columns.end)} as end_ms, ${columns.value}::text as value,
    ${columns.start === 'null::timestamptz' ? 'null' : 'local_date::text'} as local_date, revision, profile_id,
    read_at, first_seen_at, changed_at, gone_at from vitalsync.${table}`

const records = [
  recordsOf('biomarkers', { start: 'start_date_time', end: 'end_date_time', value: 'value' }),
  recordsOf('tags', { start: 'start_date_time', end: 'end_date_time', value: 'value' }),
  recordsOf('scores', { start: 'score_date_time', end: 'score_date_time', value: 'value' }),
  recordsOf('demographics', { start: 'null::timestamptz', end: 'null::timestamptz', value: 'age' }),
].join(' union all ')

/** Each part of the state as lists of plain values, in the order of `model-lists.ts`. */
const parts: Readonly<Record<string, string>> = {
  profiles: list(
    `id::text, external_id, state, ${ms('wanted_from')}, ${ms('added_at')}, ${ms('due_at')}, ${ms('registering_until')}, ${ms('finished_at')}, run_id::text`,
    'vitalsync.profiles',
  ),
  ledger: list(
    `profile_id::text, stream, ${pairs('covered')}, generation, ${pairs('digesting')}, ${ms('touched_at')}, rereads, ${ms('digested_at')},
     recent, ${ms('read_at')}, ${ms('pushed_to')}, tagged, ${suspicions}`,
    'vitalsync.ledger',
  ),
  checkpoints: list(`external_id, stream, ${ms('checkpoint')}`, 'warehouse.coverage'),
  refusals: list(
    `profile_id::text, stream, ${ms('lower(span)')}, ${ms('upper(span)')}, status, attempts, ${ms('first_at')}, ${ms('last_at')}, ${ms('next_try_at')}`,
    'vitalsync.refusals',
  ),
  failures: list('profile_id::text, job, attempts, reason', 'vitalsync.failures'),
  records: list(
    `profile_id::text, stream, body, start_ms, end_ms, value, local_date, revision, ${ms('read_at')}, ${ms('first_seen_at')},
     ${ms('changed_at')}, ${ms('gone_at')}`,
    `(${records}) r`,
  ),
  history: list(
    `profile_id::text, stream, record_key, revision, body, ${ms('lower(recorded)')}, ${ms('upper(recorded)')}, ${ms('gone_at')}`,
    'vitalsync.history',
  ),
  tags: list(
    `profile_id::text, stream, ${ms('from_at')}, ${ms('to_at')}, tag, request_hash, edges`,
    'vitalsync.reading_tags',
  ),
  silent: list(`profile_id::text, stream, ${ms('found_at')}, records, late_ms`, 'vitalsync.silent_differences'),
  quarantine: list('profile_id::text, stream, direction, body, path, reason, times', 'vitalsync.quarantine'),
  items: list('profile_id::text, stream, item_key, parcel_id::text, place', 'vitalsync.items'),
  parcels: list(
    `profile_id::text, id::text, stream, mode, body, array_to_string(sizes, ','), taken_out, waiting, ${ms('start_at')}, ${ms('first_end_at')},
     ${ms('last_end_at')}, ${ms('added_at')}`,
    'vitalsync.parcels',
  ),
  tombstones: `(select count(*) from vitalsync.tombstones)`,
  runs: list(
    `id::text, kind, params, state, ${ms('started_at')}, ${ms('touched_at')}, ${ms('ended_at')}, enqueued, enqueued_all, after_id::text, done,
     failed, refused, requests, unchanged, rows_read, rows_written, items_pushed, items_pushed_elsewhere`,
    'vitalsync.runs',
  ),
  productions: list(
    `id::text, after_id::text, enqueued_to::text, held_by, ${ms('held_until')}`,
    "vitalsync.runs where not enqueued_all and state = 'running'",
  ),
  orders: list(`run_id::text, profile_id::text, job, scope, ${ms('ordered_at')}`, 'vitalsync.orders'),
  slots: list(`schedule, ${ms('slot_at')}`, 'vitalsync.slots'),
}

export type StateLists = Readonly<Record<string, unknown>>

/** The whole warehouse of a story. */
export async function readRealState(admin: pg.ClientBase): Promise<StateLists> {
  const fields = Object.entries(parts).map(([name, sql]) => `'${name}', ${sql}`)
  const { rows } = await admin.query<{ state: StateLists }>({
    name: 'read state',
    text: `select json_build_object(${fields.join(', ')}) as state`,
  })
  return rows[0]?.state ?? {}
}
