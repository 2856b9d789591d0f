-- The profiles of a run are enqueued bucket by bucket, each by one producer at a time, so that several processes produce a run and a
-- bucket whose node is away waits alone.
create table vitalsync.run_buckets (
  run_id        bigint not null references vitalsync.runs on delete cascade,
  first_hash    int not null,
  last_hash     int not null,
  after_id      bigint not null default 0,
  enqueued_to   bigint not null default 0,
  taken_at      timestamptz,
  held_by       uuid,
  held_until    timestamptz,
  primary key (run_id, first_hash)
);
comment on table  vitalsync.run_buckets is 'Per run and bucket of profiles, how far its producer came. The row is deleted when the whole bucket is enqueued.';
comment on column vitalsync.run_buckets.first_hash is 'With last_hash: the hashes (hashint8) of the ids in the bucket, both included.';
comment on column vitalsync.run_buckets.after_id is 'The last profile whose order is recorded: where the next producer goes on.';
comment on column vitalsync.run_buckets.enqueued_to is 'Up to here the recorded orders were enqueued for certain. Beyond it a producer that takes over enqueues them again.';
comment on column vitalsync.run_buckets.held_by is 'The lease of the producer that has the bucket, until held_until.';
comment on column vitalsync.runs.after_id is 'The last profile whose order is recorded, where all profiles are one bucket; otherwise 0.';

-- A former version produced a run as one bucket.
insert into vitalsync.run_buckets (run_id, first_hash, last_hash, after_id)
select id, -2147483648, 2147483647, after_id from vitalsync.runs where state = 'running' and not enqueued_all;
