-- What runs still wait for. The queue may forget a job and a worker may die with one: the order stays until one like it ended.

create table vitalsync.orders (
  run_id        bigint not null,
  profile_id    bigint not null,
  job           text collate "C" not null,
  scope         text collate "C" not null,
  ordered_at    timestamptz not null default clock_timestamp(),
  primary key (run_id, profile_id)
);
create index orders_profile on vitalsync.orders (profile_id);
comment on table  vitalsync.orders is 'Per run and person, the job that was ordered and has not ended yet. As many rows as jobs wait: BACKLOG_MAX bounds them.';
comment on column vitalsync.orders.scope is 'What the job is to do besides for whom. Jobs of one name, person and scope are the same job.';
comment on column vitalsync.orders.ordered_at is 'A job that began after this has done what was ordered, whichever run it belongs to.';
