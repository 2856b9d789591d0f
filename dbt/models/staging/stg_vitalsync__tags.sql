select md5(jsonb_build_array(external_id, start_date_time, type, name, source)::text) as tag_key,
  external_id, start_date_time, end_date_time, local_date, type, name, category, value, source, first_seen_at, changed_at, revision
from {{ source('vitalsync', 'tags_now') }}
