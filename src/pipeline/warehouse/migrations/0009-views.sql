-- What analysts read. Stable: columns are added, never renamed or taken away.
--
-- Where the warehouse is divided among several nodes, each view joins the tables of profiles by the profile's id, and asks nothing
-- of a profile's rows that the node which has them could not answer alone.

-- The records of the streams. `offset 0` keeps the cast from being copied into every column that is taken out of the text: it is
-- parsed once a row, and not at all where no such column is asked for.

create view warehouse.scores as
select p.external_id, r.score_date_time, r.local_date, r.type, r.value, r.state, r.created_at, d.raw -> 'factors' as factors,
  d.raw -> 'dataSources' as data_sources, d.raw ->> 'version' as version, d.raw ->> 'id' as id,
  d.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.scores r join vitalsync.profiles p on p.id = r.profile_id
cross join lateral (select r.body::jsonb as raw offset 0) d;
comment on view warehouse.scores is 'One row per person, score and day. Values as upstream sent them, never rescaled.';

create view warehouse.biomarkers as
select p.external_id, r.start_date_time, r.end_date_time, r.local_date, r.category, r.type, r.periodicity, r.aggregation,
  r.value, r.unit, r.value_type, d.raw ->> 'id' as id, d.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision,
  vitalsync.number_of(r.value) as value_number
from vitalsync.biomarkers r join vitalsync.profiles p on p.id = r.profile_id
cross join lateral (select r.body::jsonb as raw offset 0) d;
comment on view warehouse.biomarkers is 'One row per person, biomarker and period. value is text, as upstream sends it.';

create view warehouse.archetypes as
select p.external_id, r.start_date_time, r.end_date_time, r.local_date, r.name, r.value, r.data_type, r.ordinality, r.periodicity,
  d.raw ->> 'version' as version, d.raw ->> 'id' as id, d.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.archetypes r join vitalsync.profiles p on p.id = r.profile_id
cross join lateral (select r.body::jsonb as raw offset 0) d;
comment on view warehouse.archetypes is 'One row per person, archetype and week or month.';

create view warehouse.trends as
select p.external_id, r.trend_start_date_time, r.trend_end_date_time, r.local_date, r.category, r.name, r.state, r.is_higher_better,
  d.raw -> 'valueRange' as value_range, r.unit, r.periodicity, d.raw -> 'data' as data, d.raw ->> 'id' as id,
  d.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.trends r join vitalsync.profiles p on p.id = r.profile_id
cross join lateral (select r.body::jsonb as raw offset 0) d;
comment on view warehouse.trends is 'One row per person, trend and span of four weeks.';

create view warehouse.comparisons as
select p.external_id, r.start_date_time, r.end_date_time, r.local_date, r.category, r.name, r.value, r.unit, r.is_higher_better,
  r.periodicity, d.raw -> 'data' as data, d.raw ->> 'id' as id, d.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.comparisons r join vitalsync.profiles p on p.id = r.profile_id
cross join lateral (select r.body::jsonb as raw offset 0) d;
comment on view warehouse.comparisons is 'One row per person, comparison and day.';

create view warehouse.tags as
select p.external_id, r.start_date_time, r.end_date_time, r.local_date, r.type, r.name, r.category, r.value, r.source,
  d.raw -> 'additionalProperties' as additional_properties, d.raw ->> 'id' as id,
  d.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.tags r join vitalsync.profiles p on p.id = r.profile_id
cross join lateral (select r.body::jsonb as raw offset 0) d;
comment on view warehouse.tags is 'One row per person and tag: events, and states that are open until they have an end.';

create view warehouse.demographics as
select p.external_id, r.age, r.gender, r.birth_date, r.country, d.raw ->> 'birthCountry' as birth_country,
  d.raw ->> 'ethnicity' as ethnicity, d.raw ->> 'occupation' as occupation, d.raw ->> 'industry' as industry,
  d.raw ->> 'incomeRange' as income_range, d.raw ->> 'education' as education, d.raw ->> 'relationship' as relationship,
  d.raw ->> 'locale' as locale, d.raw ->> 'livingArrangement' as living_arrangement,
  d.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.demographics r join vitalsync.profiles p on p.id = r.profile_id
cross join lateral (select r.body::jsonb as raw offset 0) d;
comment on view warehouse.demographics is 'Who the person is, as upstream last said.';

create view warehouse.device_information as
select p.external_id, d.raw ->> 'deviceInformationId' as device_information_id, d.raw ->> 'sdkId' as sdk_id,
  d.raw ->> 'sdkVersion' as sdk_version, d.raw ->> 'appId' as app_id, d.raw ->> 'appVersion' as app_version,
  d.raw ->> 'deviceId' as device_id, r.device_type, r.device_model, r.system, r.system_version, r.time_zone,
  d.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.device_information r join vitalsync.profiles p on p.id = r.profile_id
cross join lateral (select r.body::jsonb as raw offset 0) d;
comment on view warehouse.device_information is 'The person''s device, as upstream last said.';

-- What upstream gives now: most questions are about this.
do $$
declare
  relation text;
begin
  foreach relation in array
    array['scores', 'biomarkers', 'archetypes', 'trends', 'comparisons', 'tags', 'demographics', 'device_information']
  loop
    execute format('create view warehouse.%I as select * from warehouse.%I where gone_at is null', relation || '_now', relation);
    execute format('comment on view warehouse.%I is %L', relation || '_now',
      format('The rows of %s that upstream gives now, without those that are gone.', relation));
  end loop;
end $$;

create view warehouse.history as
select p.external_id, h.stream, h.record_key, h.revision, d.raw, h.recorded, h.gone_at
from vitalsync.history h join vitalsync.profiles p on p.id = h.profile_id
cross join lateral (select h.body::jsonb as raw offset 0) d;
comment on view warehouse.history is 'Former selves of records that changed or went: what we believed, and when.';

-- How far the pipeline has come, and what went wrong.

create view warehouse.coverage as
select p.external_id, l.stream, l.covered,
  coalesce(
    (select upper(r) from unnest(l.covered) r where r @> p.wanted_from),
    least(l.pushed_to, (select min(o.first_end_at) from vitalsync.parcels o
      where o.profile_id = l.profile_id and o.stream = l.stream))) as checkpoint
from vitalsync.ledger l join vitalsync.profiles p on p.id = l.profile_id;
comment on view warehouse.coverage is 'Per person and stream, the spans that were read and had settled. checkpoint: up to which instant without a hole since the first wanted one; for data-logs, up to which endDateTime everything was pushed.';

-- A stable function may be applied to the ranges of a row, but not inside the function that lists them.
create view warehouse.completeness as
select p.external_id, l.stream, p.wanted_from,
  extract(epoch from (select sum(upper(r * tstzrange(p.wanted_from, now())) - lower(r * tstzrange(p.wanted_from, now())))
      from unnest(l.covered) r))
    / extract(epoch from nullif(now() - p.wanted_from, '0')) as share_covered,
  tstzmultirange(tstzrange(p.wanted_from, now())) - l.covered as missing,
  (select count(*)::int from vitalsync.refusals f where f.profile_id = l.profile_id and f.stream = l.stream) as refused_windows,
  (select count(*)::int from vitalsync.quarantine q where q.profile_id = l.profile_id and q.stream = l.stream) as quarantined
from vitalsync.ledger l join vitalsync.profiles p on p.id = l.profile_id
where l.stream <> 'data-logs' and p.wanted_from < now();
comment on view warehouse.completeness is 'Per person and stream, how much of the wanted time was read and had settled, and what is missing. The newest days are always missing until they settle.';
comment on column warehouse.completeness.share_covered is '0 to 1; null when nothing is covered yet.';

create view warehouse.freshness as
select p.external_id, l.stream, l.read_at as last_read_at, now() - l.read_at as age,
  (select max(upper(r)) from unnest(l.covered) r) as covered_to, l.pushed_to,
  (select coalesce(sum(o.waiting), 0)::int from vitalsync.parcels o
    where o.profile_id = l.profile_id and o.stream = l.stream) as waiting_to_be_pushed
from vitalsync.ledger l join vitalsync.profiles p on p.id = l.profile_id;
comment on view warehouse.freshness is 'Per person and stream, when it was last read, how far it is covered, and what waits to be pushed.';

-- lateness is kept whole, silent differences with their profiles: the latter are summed before they are joined.
create view warehouse.lateness as
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
comment on view warehouse.lateness is 'Per stream, how long after its cause (the end of its period, or a push) a record first came, and how long after it a record changed. An upper bound: the change came at some time before the reading that found it.';
comment on column warehouse.lateness.stream is 'The stream.';
comment on column warehouse.lateness.kind is 'came: when a reading found the record for the first time; changed: when a reading found it changed, gone or back.';
comment on column warehouse.lateness.days is 'Over how many days of the last 60 was counted.';
comment on column warehouse.lateness.records is 'How many records were watched, at the age at which most were.';
comment on column warehouse.lateness.found is 'How many came or changed.';
comment on column warehouse.lateness.median is 'Half of what came or changed did so at this age or earlier.';
comment on column warehouse.lateness.p90 is 'Nine tenths did so at this age or earlier.';
comment on column warehouse.lateness.p99 is 'Ninety-nine of a hundred did so at this age or earlier.';
comment on column warehouse.lateness.p999 is 'All but one of a thousand did so at this age or earlier.';
comment on column warehouse.lateness.settle_time is 'The settle time in force, within the bounds of the settings. Empty until it was computed.';
comment on column warehouse.lateness.basis is 'What the settle time follows from: fallback, measured, extrapolated or longer. See `vitalsync explain settle`.';
comment on column warehouse.lateness.silent_differences is 'Records of the last 30 days that a reading changed after their day had been called covered.';

create view warehouse.runs as
select id, kind, state, started_at, ended_at, enqueued, done, failed, refused, requests, rows_read, rows_written, items_pushed,
  items_pushed_elsewhere, unchanged
from vitalsync.runs;
comment on view warehouse.runs is 'One cron slot, or one command, with what it did.';

create view warehouse.quarantine as
select p.external_id, q.id, q.stream, q.direction, q.path, q.reason, q.body, q.times, q.first_seen_at, q.last_seen_at
from vitalsync.quarantine q join vitalsync.profiles p on p.id = q.profile_id;
comment on view warehouse.quarantine is 'Records and items that did not fit, whole, with the reason.';

create view warehouse.differences as
select p.external_id, d.stream, lower(d.span) as start_at, upper(d.span) as end_at, d.found_at, d.cause, d.missing_here,
  d.differing, d.missing_upstream, d.mended_at
from vitalsync.differences d join vitalsync.profiles p on p.id = d.profile_id;
comment on view warehouse.differences is 'Covered windows that differed from what upstream gives, when they were found, why, and when they were mended.';

-- The interval is Wilson's at 95 %, as in `measuredRateOf`.
create view warehouse.verified as
with sums as (
  select stream, sum(windows)::float8 as windows, sum(differing)::float8 as differing
  from vitalsync.verified_windows where verified_on > (now() at time zone 'UTC')::date - 30 group by stream
), rates as (
  select stream, windows, differing, differing / windows as rate, 1.96 ^ 2 / windows as z2
  from sums where windows > 0
), intervals as (
  select *, (rate + z2 / 2) / (1 + z2) as middle,
    1.96 * sqrt(rate * (1 - rate) / windows + z2 / (4 * windows)) / (1 + z2) as spread
  from rates
)
select stream, windows::int8 as windows, differing::int8 as differing, rate, greatest(0, middle - spread) as rate_from,
  least(1, middle + spread) as rate_up_to
from intervals;
comment on view warehouse.verified is 'Per stream, the covered windows that were drawn by chance and read again in the last 30 days, the share that differed, and its 95 % interval.';

create view warehouse.audit as
select a.at, a.who, a.role, a.action, n.external_id, a.what
from vitalsync.audit a left join vitalsync.names n on n.id = a.profile_id;
comment on view warehouse.audit is 'Who looked at health values, or acted, on the dashboard, newest last.';
comment on column warehouse.audit.at is 'When it was recorded: before the action began.';
comment on column warehouse.audit.who is 'The name by which the person signed in; local: on this machine, where nobody signs in.';
comment on column warehouse.audit.role is 'look or act; empty where a sign-in was refused.';
comment on column warehouse.audit.action is 'The action, or the look, by its name in the dashboard.';
comment on column warehouse.audit.external_id is 'The person whom it concerned; null where it concerned nobody, or an erased person.';
comment on column warehouse.audit.what is 'Our own ids and settings; no names and no values.';

-- Ready-made answers. A question about one person, or about one day, reads that person's or that day's rows: the views begin with
-- the profiles, and look up the records of each.

-- The records of a person are grouped once, whatever stream they are of.
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
    select local_date as day, type, null::float8 as score, value
    from vitalsync.biomarkers where profile_id = p.id and gone_at is null and periodicity = 'daily') r
  where r.day is not null
  group by r.day) d;
comment on view vitalsync.person_days is 'As warehouse.person_days, with the id by which other views join it.';

create view warehouse.person_days as
select d.external_id, d.local_date,
  d.wellbeing, d.activity, d.sleep, d.readiness, d.mental_wellbeing, d.steps, d.active_hours, d.active_duration,
  d.active_energy_burned, d.sleep_duration, d.sleep_efficiency, d.sleep_regularity, d.heart_rate_resting,
  d.heart_rate_variability_sdnn, d.heart_rate_variability_rmssd, d.vo2_max, d.weight
from vitalsync.person_days d;
comment on view warehouse.person_days is 'One row per person and calendar day in the person''s own offset: the five scores and the most used daily biomarkers side by side. A sleep belongs to the day it ends on. Null: nothing there.';

create view warehouse.seven_day_means as
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
comment on view warehouse.seven_day_means is 'Per person and day, the mean over that day and the six calendar days before it, of the days that have a value.';
comment on column warehouse.seven_day_means.days is 'How many of the seven days have a row in person_days.';

create view warehouse.score_drivers as
select p.external_id, r.local_date, r.type as score, r.value as score_value, r.state as score_state,
  f.factor, f.value, f.goal, f.factor_score, f.state, f.unit, f.weakest_first
from vitalsync.scores r
join vitalsync.profiles p on p.id = r.profile_id
cross join lateral (
  select x ->> 'name' as factor, vitalsync.number_of(x ->> 'value') as value, vitalsync.number_of(x ->> 'goal') as goal,
    vitalsync.number_of(x ->> 'score') as factor_score, x ->> 'state' as state, x ->> 'unit' as unit,
    rank() over (order by vitalsync.number_of(x ->> 'score') nulls last) as weakest_first
  from (select r.body::jsonb -> 'factors' as factors offset 0) b
  cross join lateral jsonb_array_elements(case when jsonb_typeof(b.factors) = 'array' then b.factors else '[]' end) as e(x)) f
where r.gone_at is null;
comment on view warehouse.score_drivers is 'One row per score and factor: what holds a score up or keeps it down.';
comment on column warehouse.score_drivers.weakest_first is '1 is the factor with the lowest score of its own.';

create view warehouse.archetype_transitions as
select p.external_id, t.name, t.periodicity, t.since, t.until, t.from_value, t.to_value, t.from_ordinality, t.to_ordinality,
  case when t.from_ordinality < t.to_ordinality then 'up' when t.from_ordinality > t.to_ordinality then 'down'
    else 'sideways' end as direction
from vitalsync.profiles p
cross join lateral (
  select a.name, a.periodicity, a.start_date_time as since, a.end_date_time as until,
    lag(a.value) over w as from_value, a.value as to_value,
    lag(a.ordinality) over w as from_ordinality, a.ordinality as to_ordinality
  from vitalsync.archetypes a where a.profile_id = p.id and a.gone_at is null
  window w as (partition by a.name, a.periodicity order by a.start_date_time)) t
where t.from_value is distinct from t.to_value and t.from_value is not null;
comment on view warehouse.archetype_transitions is 'Each time an archetype became another from one period to the next.';

create view warehouse.streaks as
select p.external_id, t.score, t.state, t.since, t.until, t.days
from vitalsync.profiles p
cross join lateral (
  select score, state, min(local_date) as since, max(local_date) as until, count(*)::int as days
  from (
    select d.type as score, d.state, d.local_date,
      d.local_date - (row_number() over (partition by d.type, d.state order by d.local_date))::int as island
    from (select distinct type, state, local_date from vitalsync.scores
          where profile_id = p.id and gone_at is null and local_date is not null and state is not null) d) i
  group by score, state, island) t;
comment on view warehouse.streaks is 'Unbroken runs of days on which a score was in the same state.';

create view warehouse.archetype_days as
select p.external_id, c.day as local_date, a.name, a.periodicity, a.value, a.ordinality
from vitalsync.archetypes a
join vitalsync.profiles p on p.id = a.profile_id
join vitalsync.calendar c on c.day between a.local_date
  and a.local_date + greatest(round(extract(epoch from a.end_date_time - a.start_date_time) / 86400)::int, 1) - 1
where a.gone_at is null;
comment on view warehouse.archetype_days is 'One row per person, archetype and day for which it holds: archetypes that can be joined by date.';

create view warehouse.score_changes as
select p.external_id, r.type, r.local_date, r.score_date_time, v.value_before, v.value_after, upper(h.recorded) as changed_at,
  upper(h.recorded) - r.score_date_time as changed_after
from vitalsync.history h
join vitalsync.profiles p on p.id = h.profile_id
join vitalsync.scores r on r.profile_id = h.profile_id and r.type = h.record_key ->> 'type'
  and r.score_date_time = (h.record_key ->> 'score_date_time')::timestamptz
left join vitalsync.history n on n.profile_id = h.profile_id and n.stream = h.stream and n.record_key = h.record_key
  and n.revision = h.revision + 1
cross join lateral (
  select case when h.gone_at is null then vitalsync.number_of(coalesce(h.body::json ->> 'value', h.body::json ->> 'score')) end as value_before,
    case when n.profile_id is null then case when r.gone_at is null then r.value end
      when n.gone_at is null then vitalsync.number_of(coalesce(n.body::json ->> 'value', n.body::json ->> 'score')) end as value_after) v
where h.stream = 'scores' and v.value_before is distinct from v.value_after;
comment on view warehouse.score_changes is 'One row for each time the value of a score changed after it was first read: before, after, when, and how late.';

-- Every column of every view says what it means and in which unit. Of several lines that match a column the first counts.
do $$
declare
  meaning record;
  relation record;
begin
  for meaning in select * from (values
    ('.*', 'external_id', 'The name by which the person is known upstream.'),
    ('.*', 'stream', 'The stream.'),
    ('.*', 'start_date_time', 'Start of the period that the record describes.'),
    ('.*', 'end_date_time', 'End of the period that the record describes.'),
    ('.*', 'id', 'Upstream''s id of the record. It may change when the record is derived again.'),
    ('.*', 'unit', 'The unit of the value, as upstream names it.'),
    ('.*', 'periodicity', 'How long a period is: daily, weekly or monthly.'),
    ('.*', 'version', 'The version of the model that derived it, as upstream names it.'),
    ('.*', 'category', 'The group to which upstream counts it.'),
    ('.*', 'is_higher_better', 'Whether a higher value is the better one.'),
    ('.*', 'data', 'The details, as upstream sends them.'),
    ('.*', 'raw', 'The record as upstream sent it, whole.'),
    ('(scores|biomarkers|archetypes|trends|comparisons|tags)(_now)?|score_drivers', 'local_date',
      'The calendar day to which the record belongs, in the offset it carries itself: the day on which it starts, of a night the day on which the night ends.'),
    ('.*', 'local_date', 'The calendar day, in the person''s own offset.'),
    ('.*', 'first_seen_at', 'When the record was first read.'),
    ('.*', 'changed_at', 'When the reading that brought this version, or found it gone, was sent.'),
    ('.*', 'gone_at', 'Since when upstream does not send the record any more; null while it does. Rows are never deleted for that.'),
    ('.*', 'revision', '1 at first, one more with each change. Former ones are in history.'),
    ('archetypes.*', 'name', 'Which archetype, such as activity_level.'),
    ('archetype.*', 'value', 'The archetype that holds in the period.'),
    ('archetype.*', 'ordinality', 'The rank of the value among the values of this archetype, from 0; null where they have no order.'),
    ('archetypes.*', 'data_type', 'Whether the values have an order: ordinal or categorical.'),
    ('archetype_days', 'name', 'Which archetype, such as activity_level.'),
    ('archetype_transitions', 'name', 'Which archetype, such as activity_level.'),
    ('archetype_transitions', 'since', 'Start of the first period in which the new value holds.'),
    ('archetype_transitions', 'until', 'End of that period.'),
    ('archetype_transitions', 'from_value', 'The value of the period before.'),
    ('archetype_transitions', 'to_value', 'The new value.'),
    ('archetype_transitions', 'from_ordinality', 'The rank of the value before.'),
    ('archetype_transitions', 'to_ordinality', 'The rank of the new value.'),
    ('archetype_transitions', 'direction', 'up or down by the ranks; sideways where they have no order.'),
    ('biomarkers.*', 'type', 'Which biomarker, such as steps.'),
    ('biomarkers.*', 'aggregation', 'How the value sums up its period: total, average, minimum, maximum.'),
    ('biomarkers.*', 'value', 'The value as text, as upstream sends it; in the unit of unit.'),
    ('biomarkers.*', 'value_type', 'The kind of the value: integer, double, string, dateTime.'),
    ('biomarkers.*', 'value_number', 'The value as a number, in the unit of unit; null where it is none.'),
    ('comparisons.*', 'name', 'What is compared, such as steps.'),
    ('comparisons.*', 'value', 'The person''s own value, in the unit of unit. Percentiles are in data.'),
    ('completeness', 'wanted_from', 'Start of the wanted time.'),
    ('completeness', 'missing', 'The wanted spans that are not covered.'),
    ('completeness', 'refused_windows', 'How many windows upstream refuses now.'),
    ('completeness', 'quarantined', 'How many records and items did not fit.'),
    ('coverage', 'covered', 'The spans that were read after they had settled.'),
    ('coverage', 'checkpoint', 'Up to which instant without a hole since the first wanted one; for data-logs up to which endDateTime everything was pushed.'),
    ('demographics.*', 'age', 'Age in years.'),
    ('demographics.*', 'gender', 'Gender, as upstream names it.'),
    ('demographics.*', 'birth_date', 'Date of birth, as text.'),
    ('demographics.*', 'country', 'Country of residence, two letters.'),
    ('demographics.*', 'birth_country', 'Country of birth, two letters.'),
    ('demographics.*', 'ethnicity', 'Ethnicity, as the person gave it.'),
    ('demographics.*', 'occupation', 'Occupation, as the person gave it.'),
    ('demographics.*', 'industry', 'Industry, as the person gave it.'),
    ('demographics.*', 'income_range', 'Range of income, as the person gave it.'),
    ('demographics.*', 'education', 'Education, as the person gave it.'),
    ('demographics.*', 'relationship', 'Relationship status.'),
    ('demographics.*', 'locale', 'Rural or Urban.'),
    ('demographics.*', 'living_arrangement', 'Renting, HomeOwner or Homeless.'),
    ('device_information.*', 'device_information_id', 'Upstream''s id of the entry.'),
    ('device_information.*', 'sdk_id', 'The SDK that sent it.'),
    ('device_information.*', 'sdk_version', 'The version of the SDK.'),
    ('device_information.*', 'app_id', 'The app that sent it.'),
    ('device_information.*', 'app_version', 'The version of the app.'),
    ('device_information.*', 'device_id', 'The device''s own id.'),
    ('device_information.*', 'device_type', 'The kind of device, such as watch or phone.'),
    ('device_information.*', 'device_model', 'The model.'),
    ('device_information.*', 'system', 'The operating system.'),
    ('device_information.*', 'system_version', 'Its version.'),
    ('device_information.*', 'time_zone', 'The time zone that the device reported.'),
    ('differences', 'start_at', 'Start of the window that differed.'),
    ('differences', 'end_at', 'End of the window that differed.'),
    ('differences', 'found_at', 'When the difference was found.'),
    ('differences', 'cause', 'lost-here, changed-upstream or late-upstream: the gravest cause of its records.'),
    ('differences', 'missing_here', 'How many records upstream has and the warehouse had not.'),
    ('differences', 'differing', 'How many records had another text.'),
    ('differences', 'missing_upstream', 'How many records the warehouse had and upstream has not.'),
    ('differences', 'mended_at', 'When the window was stored again and equalled what upstream gives; null until then.'),
    ('freshness', 'last_read_at', 'When the newest stored reading was sent; null before the first.'),
    ('freshness', 'age', 'How long ago that was.'),
    ('freshness', 'covered_to', 'End of the newest covered span.'),
    ('freshness', 'pushed_to', 'The newest endDateTime that was pushed.'),
    ('freshness', 'waiting_to_be_pushed', 'How many items wait to be pushed.'),
    ('history', 'record_key', 'What names the record among those of its stream.'),
    ('history', 'recorded', 'The span in which this version was the current one here.'),
    ('person_days', 'wellbeing', 'The wellbeing score, 0 to 1.'),
    ('person_days', 'activity', 'The activity score, 0 to 1.'),
    ('person_days', 'sleep', 'The sleep score, 0 to 1.'),
    ('person_days', 'readiness', 'The readiness score, 0 to 1.'),
    ('person_days', 'mental_wellbeing', 'The mental wellbeing score, 0 to 1.'),
    ('person_days', 'steps', 'Steps of the day.'),
    ('person_days', 'active_hours', 'Hours with enough movement.'),
    ('person_days', 'active_duration', 'Minutes of activity.'),
    ('person_days', 'active_energy_burned', 'Energy of activity, in kilocalories.'),
    ('person_days', 'sleep_duration', 'Minutes asleep.'),
    ('person_days', 'sleep_efficiency', 'Share of the time in bed asleep, as upstream scales it.'),
    ('person_days', 'sleep_regularity', 'How regular the times of sleep are, as upstream scales it.'),
    ('person_days', 'heart_rate_resting', 'Resting heart rate, in beats a minute.'),
    ('person_days', 'heart_rate_variability_sdnn', 'Heart rate variability SDNN, in milliseconds.'),
    ('person_days', 'heart_rate_variability_rmssd', 'Heart rate variability RMSSD, in milliseconds.'),
    ('person_days', 'vo2_max', 'Maximal oxygen uptake, in ml per kilogram and minute.'),
    ('person_days', 'weight', 'Body weight, in kilograms.'),
    ('seven_day_means', 'wellbeing', 'Mean of the wellbeing score, 0 to 1.'),
    ('seven_day_means', 'activity', 'Mean of the activity score, 0 to 1.'),
    ('seven_day_means', 'sleep', 'Mean of the sleep score, 0 to 1.'),
    ('seven_day_means', 'readiness', 'Mean of the readiness score, 0 to 1.'),
    ('seven_day_means', 'mental_wellbeing', 'Mean of the mental wellbeing score, 0 to 1.'),
    ('seven_day_means', 'steps', 'Mean of the steps a day.'),
    ('seven_day_means', 'sleep_duration', 'Mean of the minutes asleep.'),
    ('seven_day_means', 'heart_rate_resting', 'Mean of the resting heart rate, in beats a minute.'),
    ('seven_day_means', 'heart_rate_variability_rmssd', 'Mean of the RMSSD, in milliseconds.'),
    ('quarantine', 'id', 'The id for vitalsync quarantine show and replay.'),
    ('quarantine', 'direction', 'pull: a record from upstream; push: an item that upstream refused.'),
    ('quarantine', 'path', 'Where within the record the fault is.'),
    ('quarantine', 'reason', 'What is wrong with it.'),
    ('quarantine', 'body', 'The exact text.'),
    ('quarantine', 'times', 'How often it came.'),
    ('quarantine', 'last_seen_at', 'When it came last.'),
    ('runs', 'id', 'The number of the run.'),
    ('runs', 'kind', 'nightly, sweep, sync or backfill.'),
    ('runs', 'state', 'running, done, failed or stopped.'),
    ('runs', 'started_at', 'When it started.'),
    ('runs', 'ended_at', 'When it ended; null while it runs.'),
    ('runs', 'enqueued', 'Profiles that were due in it.'),
    ('runs', 'done', 'Profiles that were finished.'),
    ('runs', 'failed', 'Profiles whose job failed.'),
    ('runs', 'refused', 'Windows and items that upstream refused.'),
    ('runs', 'requests', 'Requests to upstream.'),
    ('runs', 'rows_read', 'Records that were read.'),
    ('runs', 'rows_written', 'Records that were new or had changed.'),
    ('runs', 'items_pushed', 'Items that were pushed.'),
    ('runs', 'items_pushed_elsewhere', 'Items that jobs of other runs pushed for profiles of this run meanwhile.'),
    ('runs', 'unchanged', 'Readings that upstream answered with: not changed since.'),
    ('score_drivers', 'score', 'Which score, such as sleep.'),
    ('score_drivers', 'score_value', 'The score, 0 to 1.'),
    ('score_drivers', 'score_state', 'The state of the score, such as low.'),
    ('score_drivers', 'factor', 'Which factor.'),
    ('score_drivers', 'value', 'The person''s value of the factor, in the unit of unit.'),
    ('score_drivers', 'goal', 'The goal of the factor, in the unit of unit.'),
    ('score_drivers', 'factor_score', 'The score of the factor alone, 0 to 1.'),
    ('score_drivers', 'state', 'The state of the factor.'),
    ('score_changes', 'type', 'Which score, such as sleep.'),
    ('score_changes', 'score_date_time', 'The instant of the score.'),
    ('score_changes', 'value_before', 'The score before, 0 to 1; null while upstream did not give it.'),
    ('score_changes', 'value_after', 'The score after, 0 to 1; null where upstream does not give it any more.'),
    ('score_changes', 'changed_at', 'When the reading that found the change was sent.'),
    ('score_changes', 'changed_after', 'How long after the instant of the score that was.'),
    ('scores.*', 'score_date_time', 'The instant of the score: the start of its day.'),
    ('scores.*', 'type', 'Which score, such as sleep.'),
    ('scores.*', 'value', 'The score, 0 to 1.'),
    ('scores.*', 'state', 'The state of the score, such as low.'),
    ('scores.*', 'created_at', 'When upstream derived it.'),
    ('scores.*', 'factors', 'What the score is made of; one row each in score_drivers.'),
    ('scores.*', 'data_sources', 'The sources whose logs it rests on.'),
    ('streaks', 'score', 'Which score, such as sleep.'),
    ('streaks', 'state', 'The state that the score had on each day of the streak.'),
    ('streaks', 'since', 'The first day.'),
    ('streaks', 'until', 'The last day.'),
    ('streaks', 'days', 'How many days.'),
    ('tags.*', 'type', 'event: happened at an instant or over a span; state: holds until it ends.'),
    ('tags.*', 'name', 'The name of the tag.'),
    ('tags.*', 'value', 'The value, as text.'),
    ('tags.*', 'source', 'Who set it.'),
    ('tags.*', 'additional_properties', 'What else was sent with it.'),
    ('trends.*', 'trend_start_date_time', 'Start of the span that the trend looks at.'),
    ('trends.*', 'trend_end_date_time', 'End of the span that the trend looks at.'),
    ('trends.*', 'name', 'What the trend is of, such as steps.'),
    ('trends.*', 'state', 'increasing, decreasing or stable, as upstream names it.'),
    ('trends.*', 'value_range', 'The lowest and the highest value, in the unit of unit.'),
    ('verified', 'windows', 'Covered windows that chance drew and that were read again.'),
    ('verified', 'differing', 'How many of them differed.'),
    ('verified', 'rate', 'Their share, 0 to 1.'),
    ('verified', 'rate_from', 'Lower bound of its 95 % interval.'),
    ('verified', 'rate_up_to', 'Upper bound of its 95 % interval.')
  ) as m(relations, name, text)
  loop
    for relation in
      select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'warehouse'::regnamespace and c.relname ~ ('^(' || meaning.relations || ')$') and a.attname = meaning.name
        and a.attnum > 0 and not a.attisdropped and col_description(c.oid, a.attnum) is null
    loop
      execute format('comment on column warehouse.%I.%I is %L', relation.relname, meaning.name, meaning.text);
    end loop;
  end loop;
end $$;
