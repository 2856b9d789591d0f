-- Windows that were asked for again and had not changed.

alter table vitalsync.runs add column unchanged bigint not null default 0;
comment on column vitalsync.runs.unchanged is 'Requests that upstream answered by saying that nothing has changed since the last reading.';

create or replace view warehouse.runs as
select id, kind, state, started_at, ended_at, enqueued, done, failed, refused, requests, rows_read, rows_written, items_pushed,
  items_pushed_elsewhere, unchanged
from vitalsync.runs;
