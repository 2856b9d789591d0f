select md5(jsonb_build_array(external_id, stream, local_date)::text) as day_key,
  external_id, stream, local_date, state, reason, rows as record_count, settled as is_settled, read_at
from {{ source('vitalsync', 'days') }}
