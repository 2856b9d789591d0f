select md5(jsonb_build_array(external_id, local_date)::text) as person_day_key, *
from {{ source('vitalsync', 'person_days') }}
where local_date >= current_date - {{ var('vitalsync_days') }}
