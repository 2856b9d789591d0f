-- The record's text is kept as text. As jsonb it cost Postgres more to store than all the rest of a record together, and
-- lost what jsonb does not keep: the order of keys, spaces, a key that comes twice. The public views give it as jsonb, as
-- ever; whether it can be read as jsonb is seen before it is stored.
--
-- `offset 0` keeps the cast from being copied into every column that is taken out of the text: it is parsed once a row,
-- and not at all where no such column is asked for.

alter table vitalsync.scores add column body text;
update vitalsync.scores set body = raw::text;
alter table vitalsync.scores alter column body set not null;
alter table vitalsync.biomarkers add column body text;
update vitalsync.biomarkers set body = raw::text;
alter table vitalsync.biomarkers alter column body set not null;
alter table vitalsync.archetypes add column body text;
update vitalsync.archetypes set body = raw::text;
alter table vitalsync.archetypes alter column body set not null;
alter table vitalsync.trends add column body text;
update vitalsync.trends set body = raw::text;
alter table vitalsync.trends alter column body set not null;
alter table vitalsync.comparisons add column body text;
update vitalsync.comparisons set body = raw::text;
alter table vitalsync.comparisons alter column body set not null;
alter table vitalsync.tags add column body text;
update vitalsync.tags set body = raw::text;
alter table vitalsync.tags alter column body set not null;
alter table vitalsync.demographics add column body text;
update vitalsync.demographics set body = raw::text;
alter table vitalsync.demographics alter column body set not null;
alter table vitalsync.device_information add column body text;
update vitalsync.device_information set body = raw::text;
alter table vitalsync.device_information alter column body set not null;
alter table vitalsync.history add column body text;
update vitalsync.history set body = raw::text;
alter table vitalsync.history alter column body set not null;

create or replace view warehouse.scores as
select p.external_id, r.score_date_time, r.local_date, r.type, r.value, r.state, r.created_at, d.raw -> 'factors' as factors,
  d.raw -> 'dataSources' as data_sources, d.raw ->> 'version' as version, d.raw ->> 'id' as id,
  d.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.scores r join vitalsync.profiles p on p.id = r.profile_id
cross join lateral (select r.body::jsonb as raw offset 0) d;

create or replace view warehouse.biomarkers as
select p.external_id, r.start_date_time, r.end_date_time, r.local_date, r.category, r.type, r.periodicity, r.aggregation,
  r.value, r.unit, r.value_type, d.raw ->> 'id' as id, d.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.biomarkers r join vitalsync.profiles p on p.id = r.profile_id
cross join lateral (select r.body::jsonb as raw offset 0) d;

create or replace view warehouse.archetypes as
select p.external_id, r.start_date_time, r.end_date_time, r.local_date, r.name, r.value, r.data_type, r.ordinality, r.periodicity,
  d.raw ->> 'version' as version, d.raw ->> 'id' as id, d.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.archetypes r join vitalsync.profiles p on p.id = r.profile_id
cross join lateral (select r.body::jsonb as raw offset 0) d;

create or replace view warehouse.trends as
select p.external_id, r.trend_start_date_time, r.trend_end_date_time, r.local_date, r.category, r.name, r.state, r.is_higher_better,
  d.raw -> 'valueRange' as value_range, r.unit, r.periodicity, d.raw -> 'data' as data, d.raw ->> 'id' as id,
  d.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.trends r join vitalsync.profiles p on p.id = r.profile_id
cross join lateral (select r.body::jsonb as raw offset 0) d;

create or replace view warehouse.comparisons as
select p.external_id, r.start_date_time, r.end_date_time, r.local_date, r.category, r.name, r.value, r.unit, r.is_higher_better,
  r.periodicity, d.raw -> 'data' as data, d.raw ->> 'id' as id, d.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.comparisons r join vitalsync.profiles p on p.id = r.profile_id
cross join lateral (select r.body::jsonb as raw offset 0) d;

create or replace view warehouse.tags as
select p.external_id, r.start_date_time, r.end_date_time, r.local_date, r.type, r.name, r.category, r.value, r.source,
  d.raw -> 'additionalProperties' as additional_properties, d.raw ->> 'id' as id,
  d.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.tags r join vitalsync.profiles p on p.id = r.profile_id
cross join lateral (select r.body::jsonb as raw offset 0) d;

create or replace view warehouse.demographics as
select p.external_id, r.age, r.gender, r.birth_date, r.country, d.raw ->> 'birthCountry' as birth_country,
  d.raw ->> 'ethnicity' as ethnicity, d.raw ->> 'occupation' as occupation, d.raw ->> 'industry' as industry,
  d.raw ->> 'incomeRange' as income_range, d.raw ->> 'education' as education, d.raw ->> 'relationship' as relationship,
  d.raw ->> 'locale' as locale, d.raw ->> 'livingArrangement' as living_arrangement,
  d.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.demographics r join vitalsync.profiles p on p.id = r.profile_id
cross join lateral (select r.body::jsonb as raw offset 0) d;

create or replace view warehouse.device_information as
select p.external_id, d.raw ->> 'deviceInformationId' as device_information_id, d.raw ->> 'sdkId' as sdk_id,
  d.raw ->> 'sdkVersion' as sdk_version, d.raw ->> 'appId' as app_id, d.raw ->> 'appVersion' as app_version,
  d.raw ->> 'deviceId' as device_id, r.device_type, r.device_model, r.system, r.system_version, r.time_zone,
  d.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.device_information r join vitalsync.profiles p on p.id = r.profile_id
cross join lateral (select r.body::jsonb as raw offset 0) d;

create or replace view warehouse.history as
select p.external_id, h.stream, h.record_key, h.revision, d.raw, h.recorded, h.gone_at
from vitalsync.history h join vitalsync.profiles p on p.id = h.profile_id
cross join lateral (select h.body::jsonb as raw offset 0) d;

create or replace view warehouse.person_days as
with days as (
  select profile_id, local_date from vitalsync.scores where gone_at is null and local_date is not null
  union
  select profile_id, vitalsync.day_lived(local_date, body::json ->> 'startDateTime') from vitalsync.biomarkers
  where gone_at is null and periodicity = 'daily' and local_date is not null
), scores as (
  select profile_id, local_date,
    max(value) filter (where type = 'wellbeing') as wellbeing,
    max(value) filter (where type = 'activity') as activity,
    max(value) filter (where type = 'sleep') as sleep,
    max(value) filter (where type = 'readiness') as readiness,
    max(value) filter (where type = 'mental_wellbeing') as mental_wellbeing
  from vitalsync.scores where gone_at is null group by 1, 2
), biomarkers as (
  select profile_id, vitalsync.day_lived(local_date, body::json ->> 'startDateTime') as local_date,
    max(vitalsync.number_of(value)) filter (where type = 'steps') as steps,
    max(vitalsync.number_of(value)) filter (where type = 'active_hours') as active_hours,
    max(vitalsync.number_of(value)) filter (where type = 'active_duration') as active_duration,
    max(vitalsync.number_of(value)) filter (where type = 'active_energy_burned') as active_energy_burned,
    max(vitalsync.number_of(value)) filter (where type = 'sleep_duration') as sleep_duration,
    max(vitalsync.number_of(value)) filter (where type = 'sleep_efficiency') as sleep_efficiency,
    max(vitalsync.number_of(value)) filter (where type = 'sleep_regularity') as sleep_regularity,
    max(vitalsync.number_of(value)) filter (where type = 'heart_rate_resting') as heart_rate_resting,
    max(vitalsync.number_of(value)) filter (where type = 'heart_rate_variability_sdnn') as heart_rate_variability_sdnn,
    max(vitalsync.number_of(value)) filter (where type = 'heart_rate_variability_rmssd') as heart_rate_variability_rmssd,
    max(vitalsync.number_of(value)) filter (where type = 'vo2_max') as vo2_max,
    max(vitalsync.number_of(value)) filter (where type = 'weight') as weight
  from vitalsync.biomarkers
  where gone_at is null and periodicity = 'daily' and local_date is not null group by 1, 2
)
select p.external_id, d.local_date,
  s.wellbeing, s.activity, s.sleep, s.readiness, s.mental_wellbeing,
  b.steps, b.active_hours, b.active_duration, b.active_energy_burned, b.sleep_duration, b.sleep_efficiency,
  b.sleep_regularity, b.heart_rate_resting, b.heart_rate_variability_sdnn, b.heart_rate_variability_rmssd, b.vo2_max, b.weight
from days d join vitalsync.profiles p on p.id = d.profile_id
left join scores s on s.profile_id = d.profile_id and s.local_date = d.local_date
left join biomarkers b on b.profile_id = d.profile_id and b.local_date = d.local_date;

create or replace view warehouse.score_drivers as
select p.external_id, r.local_date, r.type as score, r.value as score_value, r.state as score_state,
  f.factor ->> 'name' as factor, vitalsync.number_of(f.factor ->> 'value') as value,
  vitalsync.number_of(f.factor ->> 'goal') as goal, vitalsync.number_of(f.factor ->> 'score') as factor_score,
  f.factor ->> 'state' as state, f.factor ->> 'unit' as unit,
  rank() over (partition by r.profile_id, r.score_date_time, r.type
    order by vitalsync.number_of(f.factor ->> 'score') nulls last) as weakest_first
from vitalsync.scores r
join vitalsync.profiles p on p.id = r.profile_id
cross join lateral (select r.body::jsonb -> 'factors' as factors offset 0) d
cross join lateral jsonb_array_elements(case when jsonb_typeof(d.factors) = 'array' then d.factors else '[]' end) as f(factor)
where r.gone_at is null;

alter table vitalsync.scores drop column raw;
alter table vitalsync.biomarkers drop column raw;
alter table vitalsync.archetypes drop column raw;
alter table vitalsync.trends drop column raw;
alter table vitalsync.comparisons drop column raw;
alter table vitalsync.tags drop column raw;
alter table vitalsync.demographics drop column raw;
alter table vitalsync.device_information drop column raw;
alter table vitalsync.history drop column raw;

comment on column vitalsync.scores.body is 'The record as upstream sent it, whole: its exact text. Every one can be read as jsonb.';
comment on column vitalsync.biomarkers.body is 'The record as upstream sent it, whole: its exact text. Every one can be read as jsonb.';
comment on column vitalsync.archetypes.body is 'The record as upstream sent it, whole: its exact text. Every one can be read as jsonb.';
comment on column vitalsync.trends.body is 'The record as upstream sent it, whole: its exact text. Every one can be read as jsonb.';
comment on column vitalsync.comparisons.body is 'The record as upstream sent it, whole: its exact text. Every one can be read as jsonb.';
comment on column vitalsync.tags.body is 'The record as upstream sent it, whole: its exact text. Every one can be read as jsonb.';
comment on column vitalsync.demographics.body is 'The record as upstream sent it, whole: its exact text. Every one can be read as jsonb.';
comment on column vitalsync.device_information.body is 'The record as upstream sent it, whole: its exact text. Every one can be read as jsonb.';
comment on column vitalsync.history.body is 'The record as it was, whole: its exact text.';
comment on column vitalsync.history.recorded is 'From when to when this version was the current one here. The time it speaks of is in record_key and body.';
