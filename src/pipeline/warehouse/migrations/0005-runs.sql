-- Runs, what they still wait for, and what failed.

create table vitalsync.runs (
  id            bigint generated always as identity primary key,
  kind          text not null,
  form          integer not null default 1,
  params        jsonb not null default '{}',
  state         text not null default 'running' check (state in ('running', 'done', 'failed', 'stopped')),
  started_at    timestamptz not null default clock_timestamp(),
  touched_at    timestamptz not null default clock_timestamp(),
  ended_at      timestamptz,
  enqueued      bigint not null default 0,
  enqueued_all  boolean not null default false,
  after_id      bigint not null default 0,
  enqueued_to   bigint not null default 0,
  held_by       uuid,
  held_until    timestamptz,
  done          bigint not null default 0,
  failed        bigint not null default 0,
  refused       bigint not null default 0,
  requests      bigint not null default 0,
  unchanged     bigint not null default 0,
  rows_read     bigint not null default 0,
  rows_written  bigint not null default 0,
  items_pushed  bigint not null default 0,
  items_pushed_elsewhere bigint not null default 0
);
create index runs_open on vitalsync.runs (id) where state = 'running';
comment on table  vitalsync.runs is 'One cron slot, or one command.';
comment on column vitalsync.runs.form is 'The form of its jobs: a version that reads only earlier forms leaves the run to newer versions.';
comment on column vitalsync.runs.touched_at is 'When its producer last showed a sign of life.';
comment on column vitalsync.runs.after_id is 'The last profile whose order is recorded: where the next producer goes on.';
comment on column vitalsync.runs.enqueued_to is 'Up to here the recorded orders were enqueued for certain. Beyond it a producer that takes over enqueues them again.';
comment on column vitalsync.runs.held_by is 'The lease of the process that enqueues the run, until held_until.';
comment on column vitalsync.runs.unchanged is 'Requests that upstream answered by saying that nothing has changed since the last reading.';
comment on column vitalsync.runs.items_pushed is 'Items that jobs of this run pushed, counted in the transaction that deletes their parcels.';
comment on column vitalsync.runs.items_pushed_elsewhere is 'Items that jobs of other runs pushed for profiles whose order of this run was open: the sweep, for instance, did the work of a sync.';

create table vitalsync.slots (
  schedule      text not null,
  slot_at       timestamptz not null,
  run_id        bigint references vitalsync.runs,
  claimed_at    timestamptz not null default clock_timestamp(),
  primary key (schedule, slot_at)
);
comment on table vitalsync.slots is 'Every tick that happened, once: two schedulers, a restart or a changed clock make neither a double nor a gap.';

-- The queue may forget a job and a worker may die with one: the order stays until such a job has ended.
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
comment on column vitalsync.orders.scope is 'The params of the job, without the person. Jobs of one name, person and scope are the same job.';
comment on column vitalsync.orders.ordered_at is 'A job that began after this has done what was ordered, whichever run it belongs to.';

create table vitalsync.failures (
  profile_id    bigint not null references vitalsync.profiles on delete cascade,
  job           text not null,
  scope         text collate "C" not null default '',
  reason        text not null,
  hint          text,
  attempts      integer not null default 1,
  first_at      timestamptz not null,
  last_at       timestamptz not null,
  primary key (profile_id, job)
);
comment on table  vitalsync.failures is 'Jobs that ended without success. The next success of the same job removes the row.';
comment on column vitalsync.failures.scope is 'The params of the job, without the person, as in orders: the same job can be ordered again.';
