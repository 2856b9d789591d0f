-- What was pushed is counted where the parcel is deleted: a job that is killed or fails afterwards has pushed it all the same.

alter table vitalsync.runs add column items_pushed_elsewhere bigint not null default 0;
comment on column vitalsync.runs.items_pushed is 'Items that jobs of this run pushed, counted in the transaction that deletes their parcels.';
comment on column vitalsync.runs.items_pushed_elsewhere is 'Items that jobs of other runs pushed for profiles whose order of this run was open: the sweep, for instance, did the work of a sync.';

create or replace view warehouse.runs as
select id, kind, state, started_at, ended_at, enqueued, done, failed, refused, requests, rows_read, rows_written, items_pushed,
  items_pushed_elsewhere
from vitalsync.runs;
