-- One row per person, stream and day: the data is there, or why it is not.

create table vitalsync.calendar (
  day           date primary key,
  starts_at     timestamptz not null,
  span          tstzrange not null
);
insert into vitalsync.calendar
select d::date, d at time zone 'UTC', tstzrange(d at time zone 'UTC', (d + interval '1 day') at time zone 'UTC')
from generate_series(timestamp '1970-01-01', timestamp '2099-12-31', interval '1 day') d;
comment on table  vitalsync.calendar is 'Every day from 1970 to 2099. A table, so that a condition on the day reaches the rows that are read for it.';
comment on column vitalsync.calendar.starts_at is 'Its begin in UTC.';
comment on column vitalsync.calendar.span is 'The whole day in UTC.';

alter table vitalsync.quarantine add column local_date date;
comment on column vitalsync.quarantine.local_date is 'Of a record that was pulled: the local day on which it starts, where that could be read.';

create table vitalsync.day_streams (
  stream        text collate "C" primary key,
  table_name    text not null,
  start_column  text,
  end_column    text,
  first_day     text not null default 'r.local_date',
  longest       interval not null default '0'
);
comment on table  vitalsync.day_streams is 'Per pulled stream, which records warehouse.days counts for a day. A new stream adds its row and calls vitalsync.define_days().';
comment on column vitalsync.day_streams.start_column is 'The column with the start of a record; null for a snapshot, which speaks of every day.';
comment on column vitalsync.day_streams.end_column is 'The column with the end of records that last several days, and count for each of them; else null.';
comment on column vitalsync.day_streams.first_day is 'The day of a record r, or the first of its days, as SQL.';
comment on column vitalsync.day_streams.longest is 'How long before a day a record may start that counts for it.';
insert into vitalsync.day_streams values
  ('scores', 'scores', 'score_date_time', null, default, default),
  ('biomarkers', 'biomarkers', 'start_date_time', null,
    $$case when r.periodicity = 'daily' then vitalsync.day_lived(r.local_date, vitalsync.start_text(r.body)) else r.local_date end$$, '1 day'),
  ('archetypes', 'archetypes', 'start_date_time', 'end_date_time', default, '32 days'),
  ('trends', 'trends', 'trend_start_date_time', 'trend_end_date_time', default, '32 days'),
  ('comparisons', 'comparisons', 'start_date_time', null, default, default),
  ('tags', 'tags', 'start_date_time', 'end_date_time', default, '366 days'),
  ('demographics', 'demographics', null, null, default, default),
  ('device-information', 'device_information', null, null, default, default);

-- The startDateTime of a record's text. Only a text that is written with spaces is parsed as JSON.
create function vitalsync.start_text(body text) returns text language sql immutable parallel safe
return case when strpos(body, '"startDateTime":"') > 0 then substr(body, strpos(body, '"startDateTime":"') + 17, 25)
  else body::json ->> 'startDateTime' end;

-- Builds warehouse.days over the streams of vitalsync.day_streams. A record counts for a day of its own offset, which begins
-- at most 14 hours before the day of UTC and ends at most 12 hours after it.
create function vitalsync.define_days() returns void language plpgsql as $define$
declare
  branches text;
begin
  select string_agg(format(
    case when start_column is null
      then 'select r.gone_at from vitalsync.%2$I r where l.stream = %1$L and r.profile_id = l.profile_id'
      else 'select r.gone_at from vitalsync.%2$I r where l.stream = %1$L and r.profile_id = l.profile_id
        and r.%3$I >= c.starts_at - interval %6$L and r.%3$I < c.starts_at + interval ''36 hours'' and '
        || case when end_column is null then '%5$s = c.day'
          else 'c.day between %5$s and %5$s + greatest(round(extract(epoch from r.%4$I - r.%3$I) / 86400)::int, 1) - 1' end
    end, stream, table_name, start_column, end_column, first_day, longest + interval '14 hours'), E'\n    union all ' order by stream)
  into branches from vitalsync.day_streams;
  execute format($view$
create or replace view warehouse.days as
select p.external_id, l.stream, c.day as local_date, d.state,
  case d.state
    when 'data' then concat_ws('; ', case when not d.settled then 'it may still change' end, f.reason, q.reason)
    when 'empty' then 'it was read, and upstream has nothing for this day'
    when 'quarantined' then q.reason
    when 'refused' then f.reason
    when 'erased_upstream' then case when r.gone > 0 then format('%%s records are gone upstream since %%s UTC', r.gone, to_char(r.gone_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI'))
      else 'upstream does not know the person any more' end
    when 'unsettled' then case when d.waits then 'something was pushed for it, and it is read again until upstream has derived'
      else 'it was read, and is read again until late data can no longer change it' end
    else 'no reading has asked for it yet; the next sync does' end as reason,
  r.present as rows, d.settled, l.read_at
from vitalsync.profiles p
join vitalsync.ledger l on l.profile_id = p.id
join vitalsync.day_streams s on s.stream = l.stream
left join (select stream, max(settle_ms) as settle_ms from vitalsync.settle_times group by stream) t on t.stream = l.stream
join vitalsync.calendar c on c.day >= (p.wanted_from at time zone 'UTC')::date and c.day <= (now() at time zone 'UTC')::date + 1
cross join lateral (
  select count(*) filter (where m.gone_at is null)::int as present, count(m.gone_at)::int as gone, max(m.gone_at) as gone_at
  from (%s) m) r
cross join lateral (
  select format('upstream refuses it%%s: %%s', case when max(x.next_try_at) = 'infinity' then '' else
      format(', and is asked again at %%s UTC', to_char(max(x.next_try_at) at time zone 'UTC', 'YYYY-MM-DD HH24:MI')) end, max(x.reason)) as reason, count(*) as windows
  from vitalsync.refusals x where x.profile_id = l.profile_id and x.stream = l.stream and x.span && c.span) fx
cross join lateral (select case when fx.windows > 0 then fx.reason end as reason) f
cross join lateral (
  select case when count(*) > 0 then format('%%s of its records did not fit: %%s', count(*), max(x.reason)) end as reason
  from vitalsync.quarantine x where x.profile_id = l.profile_id and x.stream = l.stream and x.direction = 'pull'
    and (x.local_date = c.day or x.local_date is null and x.span && c.span)) q
cross join lateral (
  select l.covered @> tstzrange(greatest(lower(c.span), p.wanted_from),
      greatest(upper(c.span) + case when r.present > 0 then interval '12 hours' else '0' end, p.wanted_from)) as settled,
    l.digesting && c.span or exists (select from jsonb_array_elements(l.rereads) e
      where tstzrange(to_timestamp((e ->> 0)::float8 / 1000), to_timestamp((e ->> 1)::float8 / 1000)) && c.span) as waits) w
cross join lateral (
  select w.settled, w.waits, case
    when r.present > 0 then 'data'
    when q.reason is not null then 'quarantined'
    when f.reason is not null then 'refused'
    when r.gone > 0 or p.state = 'gone' then 'erased_upstream'
    when w.settled then 'empty'
    when w.waits then 'unsettled'
    when upper(c.span) > l.read_at - interval '1 hour' - interval '1 millisecond' * coalesce(t.settle_ms, 259200000)
      and lower(c.span) <= l.read_at then 'unsettled'
    else 'never_read' end as state) d
where r.present > 0 or c.day <= (now() at time zone 'UTC')::date
$view$, branches);
end $define$;
select vitalsync.define_days();

comment on view   warehouse.days is 'Per person, stream and day, from the first wanted day to today: whether the data is there, and why not.';
comment on column warehouse.days.external_id is 'The name by which the person is known upstream.';
comment on column warehouse.days.stream is 'The stream.';
comment on column warehouse.days.local_date is 'The day: of records the day of their own offset; where nothing is there, the day of UTC.';
comment on column warehouse.days.state is 'data: rows are there. empty: it was read, and nothing is there. unsettled: it was read, and nothing is there yet. never_read: no reading has asked for it. refused: upstream would not give it. quarantined: what came did not fit. erased_upstream: upstream had it and has it no more.';
comment on column warehouse.days.reason is 'The state in words, with what else is known; empty where the data is there and settled.';
comment on column warehouse.days.rows is 'How many records count for the day: those that start on it, and of archetypes, trends and tags also those that last into it. A snapshot counts for every day.';
comment on column warehouse.days.settled is 'Whether the day was read after it could no longer change. Where rows are there: after it was over everywhere on earth.';
comment on column warehouse.days.read_at is 'When the stream was last read for the person, whatever the day.';
