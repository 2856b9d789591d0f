select md5(jsonb_build_array(external_id, start_date_time, type, category, periodicity, aggregation, end_date_time)::text) as biomarker_key,
  external_id, start_date_time, end_date_time, local_date, category, type, periodicity, aggregation, value, value_number, unit,
  value_type, first_seen_at, changed_at, revision
from {{ source('vitalsync', 'biomarkers_now') }}
