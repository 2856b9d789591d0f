select md5(jsonb_build_array(external_id, score_date_time, type)::text) as score_key,
  external_id, score_date_time, local_date, type, value, state, created_at, version, first_seen_at, changed_at, revision
from {{ source('vitalsync', 'scores_now') }}
