-- The public face. Stable: columns are added, never renamed or taken away.

create schema if not exists warehouse;

create view warehouse.scores as
select p.external_id, r.score_date_time, r.local_date, r.type, r.value, r.state, r.created_at, r.raw -> 'factors' as factors,
  r.raw -> 'dataSources' as data_sources, r.raw ->> 'version' as version, r.raw ->> 'id' as id,
  r.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.scores r join vitalsync.profiles p on p.id = r.profile_id;

create view warehouse.biomarkers as
select p.external_id, r.start_date_time, r.end_date_time, r.local_date, r.category, r.type, r.periodicity, r.aggregation,
  r.value, r.unit, r.value_type, r.raw ->> 'id' as id, r.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.biomarkers r join vitalsync.profiles p on p.id = r.profile_id;

create view warehouse.archetypes as
select p.external_id, r.start_date_time, r.end_date_time, r.local_date, r.name, r.value, r.data_type, r.ordinality, r.periodicity,
  r.raw ->> 'version' as version, r.raw ->> 'id' as id, r.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.archetypes r join vitalsync.profiles p on p.id = r.profile_id;

create view warehouse.trends as
select p.external_id, r.trend_start_date_time, r.trend_end_date_time, r.local_date, r.category, r.name, r.state, r.is_higher_better,
  r.raw -> 'valueRange' as value_range, r.unit, r.periodicity, r.raw -> 'data' as data, r.raw ->> 'id' as id,
  r.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.trends r join vitalsync.profiles p on p.id = r.profile_id;

create view warehouse.comparisons as
select p.external_id, r.start_date_time, r.end_date_time, r.local_date, r.category, r.name, r.value, r.unit, r.is_higher_better,
  r.periodicity, r.raw -> 'data' as data, r.raw ->> 'id' as id, r.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.comparisons r join vitalsync.profiles p on p.id = r.profile_id;

create view warehouse.tags as
select p.external_id, r.start_date_time, r.end_date_time, r.local_date, r.type, r.name, r.category, r.value, r.source,
  r.raw -> 'additionalProperties' as additional_properties, r.raw ->> 'id' as id,
  r.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.tags r join vitalsync.profiles p on p.id = r.profile_id;

create view warehouse.demographics as
select p.external_id, r.age, r.gender, r.birth_date, r.country, r.raw ->> 'birthCountry' as birth_country,
  r.raw ->> 'ethnicity' as ethnicity, r.raw ->> 'occupation' as occupation, r.raw ->> 'industry' as industry,
  r.raw ->> 'incomeRange' as income_range, r.raw ->> 'education' as education, r.raw ->> 'relationship' as relationship,
  r.raw ->> 'locale' as locale, r.raw ->> 'livingArrangement' as living_arrangement,
  r.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.demographics r join vitalsync.profiles p on p.id = r.profile_id;

create view warehouse.device_information as
select p.external_id, r.raw ->> 'deviceInformationId' as device_information_id, r.raw ->> 'sdkId' as sdk_id,
  r.raw ->> 'sdkVersion' as sdk_version, r.raw ->> 'appId' as app_id, r.raw ->> 'appVersion' as app_version,
  r.raw ->> 'deviceId' as device_id, r.device_type, r.device_model, r.system, r.system_version, r.time_zone,
  r.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision
from vitalsync.device_information r join vitalsync.profiles p on p.id = r.profile_id;

create view warehouse.history as
select p.external_id, h.stream, h.record_key, h.revision, h.raw, h.recorded, h.gone_at
from vitalsync.history h join vitalsync.profiles p on p.id = h.profile_id;

create view warehouse.coverage as
select p.external_id, l.stream, l.covered,
  coalesce((select upper(r) from unnest(l.covered) r where r @> p.wanted_from), l.pushed_to) as checkpoint
from vitalsync.ledger l join vitalsync.profiles p on p.id = l.profile_id;
comment on view warehouse.coverage is 'Per person and stream, the spans that were read and had settled. checkpoint: up to which instant without a hole since the first wanted one; for data-logs, up to which endDateTime everything was pushed.';

create view warehouse.runs as
select id, kind, state, started_at, ended_at, enqueued, done, failed, refused, requests, rows_read, rows_written, items_pushed
from vitalsync.runs;

create view warehouse.quarantine as
select p.external_id, q.id, q.stream, q.direction, q.path, q.reason, q.body, q.times, q.first_seen_at, q.last_seen_at
from vitalsync.quarantine q join vitalsync.profiles p on p.id = q.profile_id;
