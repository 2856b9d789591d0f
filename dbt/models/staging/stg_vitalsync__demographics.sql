select external_id, age, gender, birth_date, country, first_seen_at, changed_at, revision
from {{ source('vitalsync', 'demographics_now') }}
