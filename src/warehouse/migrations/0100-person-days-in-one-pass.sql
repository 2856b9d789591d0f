-- person_days of everybody took five times as long as reading its tables: the records of a person were grouped once as scores, once as
-- biomarkers, and a third time as days. They are grouped once here.

-- Text that is a number. Most values are digits alone: one look tells.
create or replace function vitalsync.number_of(value text) returns double precision language sql immutable parallel safe
return case
  when translate(value, '0123456789', '') = '' and octet_length(value) between 1 and 39 then value::double precision
  when translate(value, '0123456789', '') = '.' and octet_length(value) between 2 and 39 then value::double precision
  when value ~ '^\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?\s*$' and length(value) < 40 then value::double precision end;

create or replace view warehouse.person_days as
select p.external_id, d.local_date,
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
