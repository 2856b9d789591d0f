-- Everybody whom the warehouse knows: each has a row of coverage for each stream.
select distinct external_id
from {{ source('vitalsync', 'coverage') }}
