-- What was read and settled, what upstream would not give, how late its records come, and what did not fit.

create table vitalsync.ledger (
  profile_id    bigint not null references vitalsync.profiles on delete cascade,
  stream        text collate "C" not null,
  covered       tstzmultirange not null default '{}',
  generation    bigint not null default 0,
  digesting     tstzmultirange not null default '{}',
  digested_at   timestamptz not null default '-infinity',
  touched_at    timestamptz,
  rereads       jsonb not null default '[]',
  recent        jsonb not null default '[]',
  doubts        jsonb,
  unit_doubts   jsonb,
  tagged        boolean not null default false,
  explained     boolean not null default false,
  read_at       timestamptz,
  pushed_to     timestamptz,
  primary key (profile_id, stream)
) with (fillfactor = 70);
comment on table  vitalsync.ledger is 'Per person and stream, what was read and settled. Changed only in the transaction that stores the rows.';
comment on column vitalsync.ledger.covered is 'The spans that were read after they had settled.';
comment on column vitalsync.ledger.generation is 'Raised whenever something pushed made spans due again. A reading planned under an older generation may not cover.';
comment on column vitalsync.ledger.digesting is 'Spans that a push touched, and that were not read since in a way that counts.';
comment on column vitalsync.ledger.digested_at is 'When the next reading of what is digesting, or read again, counts.';
comment on column vitalsync.ledger.touched_at is 'When the newest push that touched what is digesting was marked as sent.';
comment on column vitalsync.ledger.rereads is 'Spans that were read since a push, and are read again until two readings agree: [[start, end, pushed, read, readings], ...] in epoch ms. Where digesting overlaps, digesting counts.';
comment on column vitalsync.ledger.recent is 'Readings of the last hour, [[start, end, sent], ...] in epoch ms: an older reading never overwrites a newer one.';
comment on column vitalsync.ledger.doubts is 'Readings that lacked more stored records than one reading may mark gone, so that a second reading must agree: [[start, end, sent, [key hashes of the records]], ...] in epoch ms.';
comment on column vitalsync.ledger.unit_doubts is 'Days whose records came in another unit than the known one: [[start, end, readings in a row, [units]], ...] in epoch ms. They settle after three more readings.';
comment on column vitalsync.ledger.tagged is 'Whether the rows of reading_tags count. Set back, with no row touched, whenever stored records are not to be relied on.';
comment on column vitalsync.ledger.explained is 'Whether vitalsync.empty_days has a row of the person and stream.';
comment on column vitalsync.ledger.read_at is 'When the newest stored reading was sent.';
comment on column vitalsync.ledger.pushed_to is 'The newest endDateTime that was pushed. What still waits before it holds the checkpoint of warehouse.coverage back.';

create table vitalsync.empty_days (
  profile_id    bigint not null,
  stream        text collate "C" not null,
  local_date    date not null,
  cause         text not null,
  until_at      timestamptz,
  evidence      jsonb not null,
  computed_at   timestamptz not null,
  former        jsonb not null default '[]',
  primary key (profile_id, stream, local_date)
);
comment on table  vitalsync.empty_days is 'Why a settled day has no record, by what was handed in. Written in the transaction that settles the day; counts only while warehouse.days calls the day empty.';
comment on column vitalsync.empty_days.cause is 'As src/pipeline/ledger/empty-causes.ts names it; data: records came after all.';
comment on column vitalsync.empty_days.until_at is 'Of sent_late_expected: from when on it is nothing_sent.';
comment on column vitalsync.empty_days.evidence is 'What the cause follows from. No value of a log.';
comment on column vitalsync.empty_days.computed_at is 'When the cause was given.';
comment on column vitalsync.empty_days.former is 'The causes before, oldest first, [{cause, since}, ...]. The newest eight.';

create table vitalsync.reading_tags (
  profile_id    bigint not null references vitalsync.profiles on delete cascade,
  stream        text collate "C" not null,
  from_at       timestamptz not null,
  to_at         timestamptz not null,
  tag           text not null,
  request_hash  integer not null,
  edges         jsonb not null,
  read_at       timestamptz not null,
  primary key (profile_id, stream, from_at, to_at)
);
comment on table  vitalsync.reading_tags is 'The tag of the last reading of a window, as long as the stored records are as that reading gave them. Bounded per person and stream.';
comment on column vitalsync.reading_tags.from_at is 'Start of the window, exactly as it was asked for. A snapshot has one row, at the epoch.';
comment on column vitalsync.reading_tags.request_hash is 'A hash of the path and the query, without the person: a tag stands for the answer to one request.';
comment on column vitalsync.reading_tags.edges is 'What the reading showed about the edges of its window, [[key hashes of records that reach beyond it], reaches back].';

create table vitalsync.false_tags (
  stream        text collate "C" primary key,
  found_at      timestamptz not null
);
comment on table  vitalsync.false_tags is 'Streams where a verification found that upstream gave one tag for two different answers. Their tags do not count for 30 days.';
comment on column vitalsync.false_tags.found_at is 'When this was found the last time.';

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

create table vitalsync.quarantine (
  id            bigint generated always as identity,
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
  local_date    date,
  further_days  integer not null default 0,
  span          tstzrange,
  mode          text,
  start_at      timestamptz,
  end_at        timestamptz,
  primary key (profile_id, id),
  unique (profile_id, stream, direction, digest)
);
create index quarantine_by_id on vitalsync.quarantine (id);
comment on table  vitalsync.quarantine is 'Records and items that did not fit, kept whole with the reason, so that they can be replayed.';
comment on column vitalsync.quarantine.body is 'The exact text, which may not even be JSON that Postgres accepts.';
comment on column vitalsync.quarantine.local_date is 'Of a record that was pulled: the local day to which it belongs, where that could be read.';
comment on column vitalsync.quarantine.further_days is 'For how many days after that day the record counts, as an archetype of a week does.';
comment on column vitalsync.quarantine.span is 'The window of the last reading that held it: what is asked for again when it has no date of its own.';
comment on column vitalsync.quarantine.start_at is 'Of what was to be pushed: start of the span that its upload touches. Empty for what was pulled.';

create table vitalsync.lateness (
  account       text collate "C" not null,
  stream        text collate "C" not null,
  observed_on   date not null,
  bin           smallint not null,
  seen          bigint not null,
  came          bigint not null,
  changed       bigint not null,
  primary key (account, stream, observed_on, bin)
);
comment on table  vitalsync.lateness is 'By day of observation, how many records readings watched at which age, and how many came or changed then. Of the last 60 days.';
comment on column vitalsync.lateness.account is 'Digest of upstream''s address and the client id.';
comment on column vitalsync.lateness.bin is 'The age since the end of the record''s period, or since the newest push that touches it: bin n is up to 2^(n/4) minutes. Of a change the age of the reading that found it, which is never too small.';
comment on column vitalsync.lateness.seen is 'Records that were watched over this age, by readings at most 30 hours apart.';
comment on column vitalsync.lateness.came is 'Records that a reading found for the first time.';
comment on column vitalsync.lateness.changed is 'Records that a reading found changed, gone or back.';

create table vitalsync.settle_times (
  account       text collate "C" not null,
  stream        text collate "C" not null,
  settle_ms     double precision not null,
  basis         text not null check (basis in ('fallback', 'measured', 'extrapolated', 'longer')),
  fallback_ms   double precision not null,
  days          integer not null,
  watched       bigint not null,
  changed_later bigint not null,
  computed_at   timestamptz not null default clock_timestamp(),
  unsettled_at  timestamptz,
  primary key (account, stream)
);
comment on table  vitalsync.settle_times is 'How long after the end of its period a record of a stream is read again until it counts as settled. Computed from vitalsync.lateness every few minutes while readings come.';
comment on column vitalsync.settle_times.basis is 'fallback: not enough is known; measured: at most one record in ten thousand changed later; extrapolated: one in a thousand, and a margin; longer: still more changed at the end of what was watched.';
comment on column vitalsync.settle_times.watched is 'Records that were watched at the age of the settle time.';
comment on column vitalsync.settle_times.changed_later is 'How many of them changed later.';
comment on column vitalsync.settle_times.unsettled_at is 'When the recent days of all profiles were last made due again, because silent differences repeated.';
