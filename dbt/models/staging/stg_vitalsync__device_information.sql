select external_id, device_type, device_model, system, system_version, time_zone, first_seen_at, changed_at, revision
from {{ source('vitalsync', 'device_information_now') }}
