-- What the pipeline knows about itself: who is synced, what was read, what waits, what went wrong.
-- Internal. Analysts read the views of schema `warehouse`.

create table vitalsync.profiles (
  id            bigint generated always as identity primary key,
  external_id   text collate "C" not null unique check (length(external_id) between 1 and 100),
  state         text not null default 'new' check (state in ('new', 'active', 'gone')),
  wanted_from   timestamptz not null,
  due_at        timestamptz not null default clock_timestamp(),
  finished_at   timestamptz,
  run_id        bigint,
  added_at      timestamptz not null default clock_timestamp()
);
create index profiles_due on vitalsync.profiles (due_at, id) where state <> 'gone';
comment on table  vitalsync.profiles is 'Every person that is synced. Everything else names a person by this id alone.';
comment on column vitalsync.profiles.external_id is 'The name the person is known by upstream. Stands here and nowhere else.';
comment on column vitalsync.profiles.state is 'new: to be registered upstream; active: synced; gone: upstream does not know them any more.';
comment on column vitalsync.profiles.wanted_from is 'Start of the span that nightly syncs keep covered.';
comment on column vitalsync.profiles.due_at is 'When the sweep should look at this person again. A hint: what is due is computed from the ledger.';

create table vitalsync.ledger (
  profile_id    bigint not null references vitalsync.profiles on delete cascade,
  stream        text collate "C" not null,
  covered       tstzmultirange not null default '{}',
  generation    bigint not null default 0,
  digesting     tstzmultirange not null default '{}',
  digested_at   timestamptz not null default '-infinity',
  recent        jsonb not null default '[]',
  read_at       timestamptz,
  pushed_to     timestamptz,
  primary key (profile_id, stream)
) with (fillfactor = 70);
comment on table  vitalsync.ledger is 'Per person and stream, what was read and settled. Changed only in the transaction that stores the rows.';
comment on column vitalsync.ledger.covered is 'The spans that were read after they had settled.';
comment on column vitalsync.ledger.generation is 'Raised whenever something pushed made spans due again. A reading planned under an older generation may not cover.';
comment on column vitalsync.ledger.digesting is 'Spans that a push touched and upstream may still be deriving from.';
comment on column vitalsync.ledger.digested_at is 'A reading sent before this instant may not cover what is digesting.';
comment on column vitalsync.ledger.recent is 'Readings of the last hour, [[start, end, sent], ...] in epoch ms: an older reading never overwrites a newer one.';
comment on column vitalsync.ledger.read_at is 'When the newest stored reading was sent.';
comment on column vitalsync.ledger.pushed_to is 'The endDateTime up to which everything that waited was pushed.';

create table vitalsync.refusals (
  profile_id    bigint not null references vitalsync.profiles on delete cascade,
  stream        text collate "C" not null,
  span          tstzrange not null,
  status        integer,
  reason        text not null,
  attempts      integer not null default 1,
  first_at      timestamptz not null,
  last_at       timestamptz not null,
  next_try_at   timestamptz not null,
  primary key (profile_id, stream, span)
);
create index refusals_next on vitalsync.refusals (next_try_at);
comment on table vitalsync.refusals is 'Windows that upstream would not give us, why, and when to ask again. A reading that covers the span removes its row.';

create table vitalsync.failures (
  profile_id    bigint not null references vitalsync.profiles on delete cascade,
  job           text not null,
  reason        text not null,
  hint          text,
  attempts      integer not null default 1,
  first_at      timestamptz not null,
  last_at       timestamptz not null,
  primary key (profile_id, job)
);
comment on table vitalsync.failures is 'Jobs that ended without success. The next success of the same job removes the row.';

create table vitalsync.quarantine (
  id            bigint generated always as identity primary key,
  profile_id    bigint not null references vitalsync.profiles on delete cascade,
  stream        text collate "C" not null,
  direction     text not null check (direction in ('push', 'pull')),
  digest        bytea not null,
  path          text not null,
  reason        text not null,
  body          text not null,
  times         integer not null default 1,
  first_seen_at timestamptz not null,
  last_seen_at  timestamptz not null,
  unique (profile_id, stream, direction, digest)
);
comment on table  vitalsync.quarantine is 'Records and items that did not fit, kept whole with the reason, so that they can be replayed.';
comment on column vitalsync.quarantine.body is 'The exact text, which may not even be JSON that Postgres accepts.';

create table vitalsync.outbox (
  id            bigint generated always as identity primary key,
  profile_id    bigint not null references vitalsync.profiles on delete cascade,
  stream        text collate "C" not null check (stream in ('data-logs', 'tags', 'demographics', 'device-information')),
  item_key      text collate "C" not null,
  body          text,
  digest        bytea not null,
  revision      integer not null default 1,
  mode          text not null default 'patch' check (mode in ('patch', 'put')),
  start_at      timestamptz not null,
  end_at        timestamptz not null,
  state         text not null default 'waiting' check (state in ('waiting', 'sent', 'refused')),
  added_at      timestamptz not null default clock_timestamp(),
  sent_at       timestamptz,
  unique (profile_id, stream, item_key)
);
create index outbox_waiting on vitalsync.outbox (profile_id, stream, end_at, id) where state = 'waiting';
comment on table  vitalsync.outbox is 'What waits to be pushed, and the memory of what was, by which an item that comes again is known.';
comment on column vitalsync.outbox.item_key is 'The stable key of the item: the log id, the identity of a tag.';
comment on column vitalsync.outbox.body is 'The item as upstream wants it; empty once it was sent.';
comment on column vitalsync.outbox.revision is 'Raised when the item is replaced, so that a push of the former text does not mark the new one sent.';

create table vitalsync.runs (
  id            bigint generated always as identity primary key,
  kind          text not null,
  params        jsonb not null default '{}',
  state         text not null default 'running' check (state in ('running', 'done', 'failed', 'stopped')),
  started_at    timestamptz not null default clock_timestamp(),
  touched_at    timestamptz not null default clock_timestamp(),
  ended_at      timestamptz,
  enqueued      bigint not null default 0,
  enqueued_all  boolean not null default false,
  after_id      bigint not null default 0,
  done          bigint not null default 0,
  failed        bigint not null default 0,
  refused       bigint not null default 0,
  requests      bigint not null default 0,
  rows_read     bigint not null default 0,
  rows_written  bigint not null default 0,
  items_pushed  bigint not null default 0
);
create index runs_open on vitalsync.runs (id) where state = 'running';
comment on table  vitalsync.runs is 'One cron slot, or one command.';
comment on column vitalsync.runs.touched_at is 'When its producer last showed a sign of life.';
comment on column vitalsync.runs.after_id is 'The last profile that was enqueued: where a producer that takes over goes on.';

create table vitalsync.slots (
  schedule      text not null,
  slot_at       timestamptz not null,
  run_id        bigint references vitalsync.runs,
  claimed_at    timestamptz not null default clock_timestamp(),
  primary key (schedule, slot_at)
);
comment on table vitalsync.slots is 'Every tick that happened, once: two schedulers, a restart or a changed clock make neither a double nor a gap.';

create table vitalsync.tombstones (
  digest        bytea primary key,
  erased_at     timestamptz not null
);
comment on table vitalsync.tombstones is 'Salted hashes of the erased, by which jobs in flight and later imports know not to bring them back.';

create table vitalsync.secrets (
  name          text primary key,
  value         bytea not null
);
insert into vitalsync.secrets values ('tombstone-salt', decode(md5(gen_random_uuid()::text) || md5(gen_random_uuid()::text), 'hex'));
