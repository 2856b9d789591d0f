select id as run_id, kind, state, started_at, ended_at, enqueued, done, failed, refused, requests, rows_read, rows_written, items_pushed
from {{ source('vitalsync', 'runs') }}
