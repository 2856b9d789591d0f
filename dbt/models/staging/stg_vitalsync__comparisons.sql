select md5(jsonb_build_array(external_id, start_date_time, name, category, periodicity, end_date_time)::text) as comparison_key,
  external_id, start_date_time, end_date_time, local_date, category, name, periodicity, value, unit, is_higher_better,
  first_seen_at, changed_at, revision
from {{ source('vitalsync', 'comparisons_now') }}
