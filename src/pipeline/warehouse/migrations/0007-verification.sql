-- What was found when covered windows were read again: how many, how many differed, and each that did with its cause. No table
-- here holds a value of a record.

create table vitalsync.verified_windows (
  verified_on   date not null,
  stream        text collate "C" not null,
  windows       bigint not null default 0,
  differing     bigint not null default 0,
  primary key (verified_on, stream)
) with (fillfactor = 70);
comment on table vitalsync.verified_windows is 'Per UTC day and stream, the covered windows that a sentinel drew by chance and read again, and how many differed. Kept for 400 days.';

create table vitalsync.differences (
  profile_id       bigint not null references vitalsync.profiles on delete cascade,
  stream           text collate "C" not null,
  span             tstzrange not null,
  found_at         timestamptz not null,
  cause            text not null check (cause in ('lost-here', 'changed-upstream', 'late-upstream')),
  missing_here     integer not null,
  differing        integer not null,
  missing_upstream integer not null,
  mended_at        timestamptz,
  primary key (profile_id, stream, span)
);
create index differences_found on vitalsync.differences (found_at);
comment on table  vitalsync.differences is 'Covered windows that differed from what upstream gives. The newest 10,000 are kept.';
comment on column vitalsync.differences.cause is 'The gravest cause of its records: lost-here before changed-upstream before late-upstream.';
comment on column vitalsync.differences.mended_at is 'When the window was stored again and equalled what upstream gives.';

create table vitalsync.silent_differences (
  id            bigint generated always as identity,
  account       text collate "C" not null,
  stream        text collate "C" not null,
  profile_id    bigint not null references vitalsync.profiles on delete cascade,
  found_at      timestamptz not null,
  records       integer not null,
  late_ms       double precision not null,
  primary key (profile_id, id)
);
create index silent_differences_found on vitalsync.silent_differences (stream, found_at);
comment on table  vitalsync.silent_differences is 'Readings that changed records whose days had been called covered, without a push that touched them. Of the last 90 days.';
comment on column vitalsync.silent_differences.found_at is 'When the reading was sent.';
comment on column vitalsync.silent_differences.records is 'How many covered records it changed.';
comment on column vitalsync.silent_differences.late_ms is 'The longest age of such a record, since the end of its period.';
