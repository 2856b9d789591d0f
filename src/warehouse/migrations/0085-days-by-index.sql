-- Questions of one day find the records by the day for which they count; questions of all days read each record once. person_days
-- began with the profiles and the calendar, and looked up each day of each person.

create or replace view warehouse.person_days as
select p.external_id, d.local_date,
  d.wellbeing, d.activity, d.sleep, d.readiness, d.mental_wellbeing, d.steps, d.active_hours, d.active_duration,
  d.active_energy_burned, d.sleep_duration, d.sleep_efficiency, d.sleep_regularity, d.heart_rate_resting,
  d.heart_rate_variability_sdnn, d.heart_rate_variability_rmssd, d.vo2_max, d.weight
from vitalsync.profiles p
cross join lateral (
  select u.day as local_date,
    max(wellbeing) as wellbeing, max(activity) as activity, max(sleep) as sleep, max(readiness) as readiness,
    max(mental_wellbeing) as mental_wellbeing, max(steps) as steps, max(active_hours) as active_hours,
    max(active_duration) as active_duration, max(active_energy_burned) as active_energy_burned,
    max(sleep_duration) as sleep_duration, max(sleep_efficiency) as sleep_efficiency,
    max(sleep_regularity) as sleep_regularity, max(heart_rate_resting) as heart_rate_resting,
    max(heart_rate_variability_sdnn) as heart_rate_variability_sdnn,
    max(heart_rate_variability_rmssd) as heart_rate_variability_rmssd, max(vo2_max) as vo2_max, max(weight) as weight
  from (
    select local_date as day,
      max(value) filter (where type = 'wellbeing') as wellbeing,
      max(value) filter (where type = 'activity') as activity,
      max(value) filter (where type = 'sleep') as sleep,
      max(value) filter (where type = 'readiness') as readiness,
      max(value) filter (where type = 'mental_wellbeing') as mental_wellbeing,
      null::float8 as steps, null::float8 as active_hours, null::float8 as active_duration,
      null::float8 as active_energy_burned, null::float8 as sleep_duration, null::float8 as sleep_efficiency,
      null::float8 as sleep_regularity, null::float8 as heart_rate_resting, null::float8 as heart_rate_variability_sdnn,
      null::float8 as heart_rate_variability_rmssd, null::float8 as vo2_max, null::float8 as weight
    from vitalsync.scores where profile_id = p.id and gone_at is null
    group by local_date
    union all
    select b.day,
      null, null, null, null, null,
      max(vitalsync.number_of(b.value)) filter (where b.type = 'steps'),
      max(vitalsync.number_of(b.value)) filter (where b.type = 'active_hours'),
      max(vitalsync.number_of(b.value)) filter (where b.type = 'active_duration'),
      max(vitalsync.number_of(b.value)) filter (where b.type = 'active_energy_burned'),
      max(vitalsync.number_of(b.value)) filter (where b.type = 'sleep_duration'),
      max(vitalsync.number_of(b.value)) filter (where b.type = 'sleep_efficiency'),
      max(vitalsync.number_of(b.value)) filter (where b.type = 'sleep_regularity'),
      max(vitalsync.number_of(b.value)) filter (where b.type = 'heart_rate_resting'),
      max(vitalsync.number_of(b.value)) filter (where b.type = 'heart_rate_variability_sdnn'),
      max(vitalsync.number_of(b.value)) filter (where b.type = 'heart_rate_variability_rmssd'),
      max(vitalsync.number_of(b.value)) filter (where b.type = 'vo2_max'),
      max(vitalsync.number_of(b.value)) filter (where b.type = 'weight')
    from (
      select counts_for as day, type, value
      from vitalsync.biomarkers where profile_id = p.id and gone_at is null and periodicity = 'daily'
      union all
      select vitalsync.day_in_text(local_date, periodicity, body), type, value
      from vitalsync.biomarkers
      where profile_id = p.id and gone_at is null and periodicity = 'daily' and counts_for is null and local_date is not null) b
    group by b.day) u
  where u.day is not null
  group by u.day) d;

alter table vitalsync.day_streams
  add column found_by text[],
  add column settle_ms double precision check (settle_ms >= 0);
comment on column vitalsync.day_streams.first_day is 'The day of a record r, or the first of its days, as SQL. Not looked at where found_by is given.';
comment on column vitalsync.day_streams.found_by is 'Where an index finds the records of a day: conditions, as SQL, each of which holds for some of the records r that count for the day c.day, and no two for the same one.';
comment on column vitalsync.day_streams.settle_ms is 'The settle time of the stream until lateness was measured: as in config/streams.ts, from which vitalsync migrate writes it.';
update vitalsync.day_streams set settle_ms = case when start_column is null then 0 else 259200000 end;
alter table vitalsync.day_streams alter column settle_ms set not null;
update vitalsync.day_streams set found_by = array['r.local_date = c.day'] where stream = 'scores';
update vitalsync.day_streams set first_day = default, longest = default, found_by = array['r.counts_for = c.day',
  'r.counts_for is null and r.local_date between c.day - 1 and c.day and vitalsync.day_in_text(r.local_date, r.periodicity, r.body) = c.day']
where stream = 'biomarkers';

-- As before, but that found_by and settle_ms are looked at.
create or replace function vitalsync.define_days() returns void language plpgsql as $define$
declare
  branches text;
begin
  select string_agg(format('select r.gone_at from vitalsync.%I r where l.stream = %L and r.profile_id = l.profile_id', s.table_name, s.stream)
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
join vitalsync.calendar c on c.day >= (p.wanted_from at time zone 'UTC')::date and c.day <= (now() at time zone 'UTC')::date + 1
join vitalsync.ledger l on l.profile_id = p.id
join (select stream, coalesce((select max(t.settle_ms) from vitalsync.settle_times t where t.stream = n.stream), n.settle_ms) as settle_ms
  from vitalsync.day_streams n) s on s.stream = l.stream
cross join lateral (
  select count(*) filter (where m.gone_at is null)::int as present, count(m.gone_at)::int as gone, max(m.gone_at) as gone_at
  from (%s) m) r
cross join lateral (
  select case when count(*) > 0 then format('upstream refuses it%%s: %%s', case when max(x.next_try_at) = 'infinity' then '' else
      format(', and is asked again at %%s UTC', to_char(max(x.next_try_at) at time zone 'UTC', 'YYYY-MM-DD HH24:MI')) end, max(x.reason)) end as reason
  from vitalsync.refusals x where x.profile_id = l.profile_id and x.stream = l.stream and x.span && c.span) f
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
    when upper(c.span) > l.read_at - interval '1 hour' - interval '1 millisecond' * s.settle_ms
      and lower(c.span) <= l.read_at then 'unsettled'
    else 'never_read' end as state) d
where r.present > 0 or c.day <= (now() at time zone 'UTC')::date
$view$, branches);
end $define$;
select vitalsync.define_days();
