-- A day with a score is a day with data: rows and their days are one commit.
select s.external_id, s.local_date
from {{ ref('stg_vitalsync__scores') }} s
left join {{ ref('stg_vitalsync__days') }} d
  on d.external_id = s.external_id and d.stream = 'scores' and d.local_date = s.local_date
where s.local_date between current_date - {{ var('vitalsync_days') }} and current_date - 1
  and d.state is distinct from 'data'
  and exists (select 1 from {{ ref('stg_vitalsync__days') }} w where w.external_id = s.external_id and w.local_date = s.local_date)
