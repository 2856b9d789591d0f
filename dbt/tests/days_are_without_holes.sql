-- Each person and stream has one row for every day from the first to the last.
select external_id, stream
from {{ ref('stg_vitalsync__days') }}
group by external_id, stream
having count(*) <> max(local_date) - min(local_date) + 1
