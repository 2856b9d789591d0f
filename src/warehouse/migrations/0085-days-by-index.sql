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
