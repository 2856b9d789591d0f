-- One row per person, stream and day: the data is there, or why it is not.

create schema if not exists warehouse;

create table vitalsync.calendar (
  day           date primary key,
  starts_at     timestamptz not null,
  span          tstzrange not null
);
insert into vitalsync.calendar (day, starts_at, span)
select d::date, d at time zone 'UTC', tstzrange(d at time zone 'UTC', (d + interval '1 day') at time zone 'UTC')
from generate_series(timestamp '1970-01-01', timestamp '2099-12-31', interval '1 day') d;
comment on table  vitalsync.calendar is 'Every day from 1970 to 2099. A table, so that a condition on the day reaches the rows that are read for it.';
comment on column vitalsync.calendar.starts_at is 'Its begin in UTC.';
comment on column vitalsync.calendar.span is 'The whole day in UTC.';

create table vitalsync.day_streams (
  stream        text collate "C" primary key,
  table_name    text not null,
  start_column  text,
  end_column    text,
  first_day     text not null default 'r.local_date',
  longest       interval not null default '0',
  found_by      text[],
  settle_ms     double precision not null check (settle_ms >= 0)
);
comment on table  vitalsync.day_streams is 'Per pulled stream, which records warehouse.days counts for a day. A new stream adds its row and calls vitalsync.define_days().';
comment on column vitalsync.day_streams.start_column is 'The column with the start of a record; null for a snapshot, which speaks of every day.';
comment on column vitalsync.day_streams.end_column is 'The column with the end of records that last several days, and count for each of them; else null.';
comment on column vitalsync.day_streams.first_day is 'The day of a record r, or the first of its days, as SQL. Not looked at where found_by is given.';
comment on column vitalsync.day_streams.longest is 'How long before a day a record may start that counts for it.';
comment on column vitalsync.day_streams.found_by is 'Where an index finds the records of a day: conditions, as SQL. Each holds for some of the records r that count for the day c.day, and no two hold for the same record.';
comment on column vitalsync.day_streams.settle_ms is 'The settle time of the stream until lateness was measured: as in config/streams.ts, from which vitalsync migrate writes it.';
insert into vitalsync.day_streams (stream, table_name, start_column, end_column, longest, found_by, settle_ms) values
  ('scores', 'scores', 'score_date_time', null, '0', array['r.local_date = c.day'], 259200000),
  ('biomarkers', 'biomarkers', 'start_date_time', null, '0', array['r.local_date = c.day'], 259200000),
  ('archetypes', 'archetypes', 'start_date_time', 'end_date_time', '32 days', null, 259200000),
  ('trends', 'trends', 'trend_start_date_time', 'trend_end_date_time', '32 days', null, 259200000),
  ('comparisons', 'comparisons', 'start_date_time', null, '0', null, 259200000),
  ('tags', 'tags', 'start_date_time', 'end_date_time', '366 days', null, 259200000),
  ('demographics', 'demographics', null, null, '0', null, 0),
  ('device-information', 'device_information', null, null, '0', null, 0);

-- On a warehouse that is divided among several nodes a view that all nodes know, such as warehouse.days, can only ask tables
-- that they know too. So the migration that makes a table of profiles also divides it, before a view asks it.

create function vitalsync.divide(laid regclass) returns void language plpgsql as $$
declare
  is_laid boolean;
begin
  if to_regclass('pg_dist_partition') is null then return; end if;
  execute 'select not exists (select from pg_dist_partition where logicalrelid = ''vitalsync.profiles''::regclass)
    or exists (select from pg_dist_partition where logicalrelid = $1)' into is_laid using laid;
  if not is_laid then
    execute 'select create_distributed_table($1, ''profile_id'', colocate_with => ''vitalsync.profiles'')' using laid;
  end if;
end $$;

-- Builds warehouse.days over the streams of vitalsync.day_streams. A record counts for a day of its own offset, which begins
-- at most 14 hours before the day of UTC and ends at most 12 hours after it.
--
-- The view begins at the first day that anybody wants. Without that bound, joined with something else, Postgres took the calendar
-- for the smaller side and looked up every person for each day since 1970.
--
-- The counts of a day are made by profile and joined where there are any: on several nodes a lateral aggregate without a group may
-- not refer to the calendar: each node has a copy of it. And what has no table of its own may only be immutable.
--
-- The cause of an empty day is looked up by key, in a group of its own: joined plainly, Postgres hashed the causes of all people.
create function vitalsync.define_view_days() returns void language plpgsql as $define$
declare
  branches text;
begin
  select string_agg(format('select r.profile_id, r.gone_at from vitalsync.%I r where l.stream = %L and r.profile_id = l.profile_id', s.table_name, s.stream)
    || coalesce(' and ' || condition, ''), E'\n    union all ' order by s.stream, n)
  into branches
  from vitalsync.day_streams s
  left join lateral unnest(coalesce(s.found_by, case when s.start_column is not null then array[
    format('r.%1$I >= c.starts_at - interval %2$L and r.%1$I < c.starts_at + interval ''36 hours'' and ', s.start_column, s.longest + interval '14 hours')
    || case when s.end_column is null then format('%s = c.day', s.first_day)
      else format('c.day between %1$s and %1$s + greatest(floor(date_part(''epoch'', r.%2$I - r.%3$I) / 86400 + 0.5)::int, 1) - 1',
        s.first_day, s.end_column, s.start_column) end] end))
    with ordinality as o(condition, n) on true;
  execute format($view$
create or replace view warehouse.days as
select p.external_id, l.stream, c.day as local_date, d.state,
  case d.state
    when 'data' then concat_ws('; ', case when l.is_in_other_unit then 'suspicious: it came in another unit, and settles once three more readings agree or the unit is accepted'
      when not w.settled then 'it may still change' end, f.reason, q.reason)
    when 'empty' then 'it was read, and upstream has nothing for this day'
    when 'quarantined' then q.reason
    when 'refused' then f.reason
    when 'erased_upstream' then case when w.gone > 0 then format('%%s records are gone upstream since %%s UTC', r.gone, to_char(r.gone_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI'))
      else 'upstream does not know the person any more' end
    when 'unsettled' then case when l.waits then 'something was pushed for it, and it is read again until upstream has derived'
      else 'it was read, and is read again until late data can no longer change it' end
    else 'no whole answer for it has come yet; the next sync asks for it' end as reason,
  w.present as rows, w.settled, l.read_at,
  case when d.state = 'empty' then case when e.cause = 'sent_late_expected' and e.until_at <= now() then 'nothing_sent'
    when e.cause = 'data' then 'unknown' else coalesce(e.cause, 'unknown') end end as cause,
  case when d.state = 'empty' and e.cause <> 'data' then e.evidence end as evidence
from vitalsync.profiles p
join vitalsync.calendar c on c.day >= (p.wanted_from at time zone 'UTC')::date and c.day <= (now() at time zone 'UTC')::date + 1
  and c.day >= (select (min(wanted_from) at time zone 'UTC')::date from vitalsync.profiles)
cross join lateral (
  select a.profile_id, a.stream, a.covered, a.read_at, a.digesting && c.span or exists (select from jsonb_array_elements(a.rereads) e
    where tstzrange(to_timestamp((e ->> 0)::float8 / 1000), to_timestamp((e ->> 1)::float8 / 1000)) && c.span) as waits,
    exists (select from jsonb_array_elements(a.unit_doubts) e where (e ->> 2)::int <= 3
      and tstzrange(to_timestamp((e ->> 0)::float8 / 1000), to_timestamp((e ->> 1)::float8 / 1000)) && c.span) as is_in_other_unit
  from vitalsync.ledger a where a.profile_id = p.id) l
join (select stream, coalesce((select max(t.settle_ms) from vitalsync.settle_times t where t.stream = n.stream), n.settle_ms) as settle_ms
  from vitalsync.day_streams n) s on s.stream = l.stream
left join lateral (
  select m.profile_id, count(*) filter (where m.gone_at is null)::int as present, count(m.gone_at)::int as gone, max(m.gone_at) as gone_at
  from (%s) m group by m.profile_id) r on true
left join lateral (
  select x.profile_id, format('upstream refuses it%%s: %%s', case when max(x.next_try_at) = 'infinity' then '' else
      format(', and is asked again at %%s UTC', to_char(max(x.next_try_at) at time zone 'UTC', 'YYYY-MM-DD HH24:MI')) end, max(x.reason)) as reason
  from vitalsync.refusals x where x.profile_id = l.profile_id and x.stream = l.stream and x.span && c.span
  group by x.profile_id) f on true
left join lateral (
  select x.profile_id, format('%%s of its records did not fit: %%s', count(*), max(x.reason)) as reason
  from vitalsync.quarantine x where x.profile_id = l.profile_id and x.stream = l.stream and x.direction = 'pull'
    and (c.day between x.local_date and x.local_date + x.further_days or x.local_date is null and x.span && c.span)
  group by x.profile_id) q on true
cross join lateral (
  select coalesce(r.present, 0) as present, coalesce(r.gone, 0) as gone,
    l.covered @> tstzrange(greatest(lower(c.span), p.wanted_from), greatest(
      case when r.present > 0 or q.reason is not null then (upper(c.span) at time zone 'UTC' + interval '12 hours') at time zone 'UTC' else upper(c.span) end,
      p.wanted_from)) as settled) w
cross join lateral (
  select case
    when w.present > 0 then 'data'
    when q.reason is not null then 'quarantined'
    when f.reason is not null then 'refused'
    when w.gone > 0 or p.state = 'gone' then 'erased_upstream'
    when w.settled then 'empty'
    when l.waits then 'unsettled'
    when upper(c.span) > (l.read_at at time zone 'UTC' - interval '1 hour' - interval '1 millisecond' * s.settle_ms) at time zone 'UTC'
      and lower(c.span) <= l.read_at then 'unsettled'
    else 'never_read' end as state) d
left join lateral (
  select x.profile_id, x.cause, x.until_at, x.evidence
  from vitalsync.empty_days x where x.profile_id = l.profile_id and x.stream = l.stream and x.local_date = c.day and d.state = 'empty'
  group by x.profile_id, x.cause, x.until_at, x.evidence) e on true
where w.present > 0 or c.day <= (now() at time zone 'UTC')::date
$view$, branches);
end $define$;

-- Divides the tables of the streams, where there are several nodes, and builds the view that asks them.
create function vitalsync.define_days() returns void language plpgsql as $$
declare
  laid text;
begin
  foreach laid in array (select array_agg(format('vitalsync.%I', table_name)) from vitalsync.day_streams) loop
    perform vitalsync.divide(laid::regclass);
  end loop;
  perform vitalsync.define_view_days();
end $$;
select vitalsync.define_days();

comment on view   warehouse.days is 'Per person, stream and day, from the first wanted day to today: whether the data is there, and why not.';
comment on column warehouse.days.external_id is 'The name by which the person is known upstream.';
comment on column warehouse.days.stream is 'The stream.';
comment on column warehouse.days.local_date is 'The day: of records the day of their own offset; where nothing is there, the day of UTC.';
comment on column warehouse.days.state is 'data: rows are there. empty: it was read, and nothing is there. unsettled: it was read, and nothing is there yet. never_read: no whole answer for it has come. refused: upstream would not give it. quarantined: what came did not fit. erased_upstream: upstream had it and has it no more.';
comment on column warehouse.days.reason is 'The state in words, with what else is known; empty where the data is there and settled.';
comment on column warehouse.days.rows is 'How many records count for the day: those that belong to it, and of archetypes, trends and tags also those that last into it. A snapshot counts for every day.';
comment on column warehouse.days.settled is 'Whether the day was read after it could no longer change. Where rows are there or in quarantine: after it was over everywhere on earth.';
comment on column warehouse.days.read_at is 'When the stream was last read for the person, whatever the day.';
comment on column warehouse.days.cause is 'Of an empty day: nothing_sent, sent_late_expected, not_worn, partly_sent, sent_not_derived, not_through_us or unknown. docs/reference/empty-days.md has the rules.';
comment on column warehouse.days.evidence is 'What the cause follows from: kinds of logs, minutes, dates and parcels, and no value of a log.';

create view warehouse.cause_changes as
select p.external_id, e.stream, e.local_date, h.n::int as change, h.former ->> 'cause' as from_cause,
  coalesce(e.former -> h.n::int ->> 'cause', e.cause) as to_cause,
  coalesce((e.former -> h.n::int ->> 'since')::timestamptz, e.computed_at) as changed_at
from vitalsync.empty_days e join vitalsync.profiles p on p.id = e.profile_id
cross join lateral jsonb_array_elements(e.former) with ordinality as h(former, n);
comment on view warehouse.cause_changes is 'Each time the cause of an empty day changed, or its records came after all: from what, to what, and when.';
comment on column warehouse.cause_changes.change is 'Counts the changes of the day, from 1. The newest eight are kept.';
comment on column warehouse.cause_changes.from_cause is 'The cause before.';
comment on column warehouse.cause_changes.to_cause is 'The cause after; data: records came.';
comment on column warehouse.cause_changes.changed_at is 'When the reading that settled the day again was stored.';
comment on column warehouse.cause_changes.local_date is 'The day, as in warehouse.days.';
