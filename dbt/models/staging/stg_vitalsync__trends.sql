select md5(jsonb_build_array(external_id, trend_start_date_time, name, category, periodicity, trend_end_date_time)::text) as trend_key,
  external_id, trend_start_date_time, trend_end_date_time, local_date, category, name, periodicity, state, is_higher_better, unit,
  first_seen_at, changed_at, revision
from {{ source('vitalsync', 'trends_now') }}
