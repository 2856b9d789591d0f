select md5(jsonb_build_array(external_id, start_date_time, name, periodicity, end_date_time)::text) as archetype_key,
  external_id, start_date_time, end_date_time, local_date, name, periodicity, value, ordinality, data_type, first_seen_at, changed_at,
  revision
from {{ source('vitalsync', 'archetypes_now') }}
