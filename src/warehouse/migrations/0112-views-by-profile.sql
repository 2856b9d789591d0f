-- The public views over a warehouse that is divided among several nodes: each joins the tables of profiles by the profile's id, and
-- asks nothing of a profile's rows that the node which has them could not answer alone. On one Postgres they mean what they meant.

-- seven_day_means found the days of a person by the name.
create view vitalsync.person_days as
select p.id as profile_id, p.external_id, d.local_date,
  d.wellbeing, d.activity, d.sleep, d.readiness, d.mental_wellbeing, d.steps, d.active_hours, d.active_duration,
  d.active_energy_burned, d.sleep_duration, d.sleep_efficiency, d.sleep_regularity, d.heart_rate_resting,
  d.heart_rate_variability_sdnn, d.heart_rate_variability_rmssd, d.vo2_max, d.weight
from vitalsync.profiles p
cross join lateral (
  select r.day as local_date,
    max(r.score) filter (where r.type = 'wellbeing') as wellbeing,
    max(r.score) filter (where r.type = 'activity') as activity,
    max(r.score) filter (where r.type = 'sleep') as sleep,
    max(r.score) filter (where r.type = 'readiness') as readiness,
    max(r.score) filter (where r.type = 'mental_wellbeing') as mental_wellbeing,
    max(vitalsync.number_of(r.value)) filter (where r.type = 'steps') as steps,
    max(vitalsync.number_of(r.value)) filter (where r.type = 'active_hours') as active_hours,
    max(vitalsync.number_of(r.value)) filter (where r.type = 'active_duration') as active_duration,
    max(vitalsync.number_of(r.value)) filter (where r.type = 'active_energy_burned') as active_energy_burned,
    max(vitalsync.number_of(r.value)) filter (where r.type = 'sleep_duration') as sleep_duration,
    max(vitalsync.number_of(r.value)) filter (where r.type = 'sleep_efficiency') as sleep_efficiency,
    max(vitalsync.number_of(r.value)) filter (where r.type = 'sleep_regularity') as sleep_regularity,
    max(vitalsync.number_of(r.value)) filter (where r.type = 'heart_rate_resting') as heart_rate_resting,
    max(vitalsync.number_of(r.value)) filter (where r.type = 'heart_rate_variability_sdnn') as heart_rate_variability_sdnn,
    max(vitalsync.number_of(r.value)) filter (where r.type = 'heart_rate_variability_rmssd') as heart_rate_variability_rmssd,
    max(vitalsync.number_of(r.value)) filter (where r.type = 'vo2_max') as vo2_max,
    max(vitalsync.number_of(r.value)) filter (where r.type = 'weight') as weight
  from (
    select local_date as day, type, value as score, null::text as value
    from vitalsync.scores where profile_id = p.id and gone_at is null
    union all
    select counts_for, type, null, value
    from vitalsync.biomarkers where profile_id = p.id and gone_at is null and periodicity = 'daily'
    union all
    select vitalsync.day_in_text(local_date, periodicity, body), type, null, value
    from vitalsync.biomarkers
    where profile_id = p.id and gone_at is null and periodicity = 'daily' and counts_for is null and local_date is not null) r
  where r.day is not null
  group by r.day) d;

comment on view vitalsync.person_days is 'As warehouse.person_days, with the id by which other views join it.';

create or replace view warehouse.person_days as
select d.external_id, d.local_date,
  d.wellbeing, d.activity, d.sleep, d.readiness, d.mental_wellbeing, d.steps, d.active_hours, d.active_duration,
  d.active_energy_burned, d.sleep_duration, d.sleep_efficiency, d.sleep_regularity, d.heart_rate_resting,
  d.heart_rate_variability_sdnn, d.heart_rate_variability_rmssd, d.vo2_max, d.weight
from vitalsync.person_days d;

create or replace view warehouse.seven_day_means as
select d.external_id, d.local_date, w.days, w.wellbeing, w.activity, w.sleep, w.readiness, w.mental_wellbeing, w.steps,
  w.sleep_duration, w.heart_rate_resting, w.heart_rate_variability_rmssd
from vitalsync.person_days d
cross join lateral (
  select count(*) as days, round(avg(x.wellbeing)::numeric, 4)::float8 as wellbeing, round(avg(x.activity)::numeric, 4)::float8 as activity,
    round(avg(x.sleep)::numeric, 4)::float8 as sleep, round(avg(x.readiness)::numeric, 4)::float8 as readiness,
    round(avg(x.mental_wellbeing)::numeric, 4)::float8 as mental_wellbeing, round(avg(x.steps)::numeric, 1)::float8 as steps,
    round(avg(x.sleep_duration)::numeric, 2)::float8 as sleep_duration,
    round(avg(x.heart_rate_resting)::numeric, 2)::float8 as heart_rate_resting,
    round(avg(x.heart_rate_variability_rmssd)::numeric, 2)::float8 as heart_rate_variability_rmssd
  from vitalsync.person_days x
  where x.profile_id = d.profile_id and x.local_date between d.local_date - 6 and d.local_date) w;

-- A stable function may stand beside the ranges of a row, and not in the function that lists them.
create or replace view warehouse.completeness as
select p.external_id, l.stream, p.wanted_from,
  extract(epoch from (select sum(upper(r * tstzrange(p.wanted_from, now())) - lower(r * tstzrange(p.wanted_from, now())))
      from unnest(l.covered) r))
    / extract(epoch from nullif(now() - p.wanted_from, '0')) as share_covered,
  tstzmultirange(tstzrange(p.wanted_from, now())) - l.covered as missing,
  (select count(*)::int from vitalsync.refusals f where f.profile_id = l.profile_id and f.stream = l.stream) as refused_windows,
  (select count(*)::int from vitalsync.quarantine q where q.profile_id = l.profile_id and q.stream = l.stream) as quarantined
from vitalsync.ledger l join vitalsync.profiles p on p.id = l.profile_id
where l.stream <> 'data-logs' and p.wanted_from < now();

-- lateness is kept whole, silent differences with their profiles: the sums of the latter are made before they are joined.
create or replace view warehouse.lateness as
with bins as (
  select l.account, l.stream, k.kind, l.bin, sum(l.seen) as seen, sum(case k.kind when 'came' then l.came else l.changed end) as found,
    count(distinct l.observed_on) as days
  from vitalsync.lateness l cross join (values ('came'), ('changed')) as k(kind)
  group by 1, 2, 3, 4
), counted as (
  select account, stream, kind, bin, seen, found,
    sum(found) over (partition by account, stream, kind order by bin) as upto,
    sum(found) over (partition by account, stream, kind) as total
  from bins
), summed as (
  select account, stream, kind, max(seen) as records, max(total) as found,
    min(bin) filter (where upto >= 0.5 * total and total > 0) as p50,
    min(bin) filter (where upto >= 0.9 * total and total > 0) as p90,
    min(bin) filter (where upto >= 0.99 * total and total > 0) as p99,
    min(bin) filter (where upto >= 0.999 * total and total > 0) as p999
  from counted group by 1, 2, 3
), silent as (
  select account, stream, sum(records) as records from vitalsync.silent_differences
  where found_at > now() - interval '30 days' group by 1, 2
)
select s.stream, s.kind, (select count(distinct observed_on)::int from vitalsync.lateness l
    where l.account = s.account and l.stream = s.stream) as days,
  s.records::bigint as records, s.found::bigint as found,
  interval '1 minute' * power(2, s.p50 / 4.0) as median, interval '1 minute' * power(2, s.p90 / 4.0) as p90,
  interval '1 minute' * power(2, s.p99 / 4.0) as p99, interval '1 minute' * power(2, s.p999 / 4.0) as p999,
  interval '1 millisecond' * t.settle_ms as settle_time, t.basis,
  coalesce(d.records, 0)::bigint as silent_differences
from summed s left join vitalsync.settle_times t on t.account = s.account and t.stream = s.stream
left join silent d on d.account = s.account and d.stream = s.stream;

-- As before, but that the counts of a day are made by profile, and joined where there are any: a lateral aggregate without a group
-- may not refer to the calendar, of which each node has a copy. And nothing without a table of its own is more than immutable.
create or replace function vitalsync.define_days() returns void language plpgsql as $define$
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
    when 'data' then concat_ws('; ', case when not w.settled then 'it may still change' end, f.reason, q.reason)
    when 'empty' then 'it was read, and upstream has nothing for this day'
    when 'quarantined' then q.reason
    when 'refused' then f.reason
    when 'erased_upstream' then case when w.gone > 0 then format('%%s records are gone upstream since %%s UTC', r.gone, to_char(r.gone_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI'))
      else 'upstream does not know the person any more' end
    when 'unsettled' then case when l.waits then 'something was pushed for it, and it is read again until upstream has derived'
      else 'it was read, and is read again until late data can no longer change it' end
    else 'no reading has asked for it yet; the next sync does' end as reason,
  w.present as rows, w.settled, l.read_at
from vitalsync.profiles p
join vitalsync.calendar c on c.day >= (p.wanted_from at time zone 'UTC')::date and c.day <= (now() at time zone 'UTC')::date + 1
  and c.day >= (select (min(wanted_from) at time zone 'UTC')::date from vitalsync.profiles)
cross join lateral (
  select a.profile_id, a.stream, a.covered, a.read_at, a.digesting && c.span or exists (select from jsonb_array_elements(a.rereads) e
    where tstzrange(to_timestamp((e ->> 0)::float8 / 1000), to_timestamp((e ->> 1)::float8 / 1000)) && c.span) as waits
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
    and (x.local_date = c.day or x.local_date is null and x.span && c.span)
  group by x.profile_id) q on true
cross join lateral (
  select coalesce(r.present, 0) as present, coalesce(r.gone, 0) as gone,
    l.covered @> tstzrange(greatest(lower(c.span), p.wanted_from), greatest(
      case when r.present > 0 then (upper(c.span) at time zone 'UTC' + interval '12 hours') at time zone 'UTC' else upper(c.span) end,
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
where w.present > 0 or c.day <= (now() at time zone 'UTC')::date
$view$, branches);
end $define$;
select vitalsync.define_days();
