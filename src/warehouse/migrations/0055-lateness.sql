-- How late upstream is, counted instead of assumed, and the settle time that follows from it.

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

create table vitalsync.silent_differences (
  id            bigint generated always as identity primary key,
  account       text collate "C" not null,
  stream        text collate "C" not null,
  profile_id    bigint not null references vitalsync.profiles on delete cascade,
  found_at      timestamptz not null,
  records       integer not null,
  late_ms       double precision not null
);
create index silent_differences_found on vitalsync.silent_differences (stream, found_at);
create index silent_differences_profile on vitalsync.silent_differences (profile_id);
comment on table  vitalsync.silent_differences is 'Readings that changed records whose days had been called covered, without a push that touched them. Of the last 90 days.';
comment on column vitalsync.silent_differences.found_at is 'When the reading was sent.';
comment on column vitalsync.silent_differences.records is 'How many covered records it changed.';
comment on column vitalsync.silent_differences.late_ms is 'The longest age of such a record, since the end of its period.';

create view warehouse.lateness as
with bins as (
  select l.account, l.stream, k.kind, l.bin, sum(l.seen) as seen, sum(case k.kind when 'came' then l.came else l.changed end) as found,
    count(distinct l.observed_on) as days
  from vitalsync.lateness l cross join (values ('came'), ('changed')) as k(kind)
  group by 1, 2, 3, 4
), counted as (
  select account, stream, kind, bin, seen, found,
    sum(found) over (partition by account, stream, kind order by bin) as upto,
    sum(found) over (partition by account, stream, kind) as total
  from bins
), summed as (
  select account, stream, kind, max(seen) as records, max(total) as found,
    min(bin) filter (where upto >= 0.5 * total and total > 0) as p50,
    min(bin) filter (where upto >= 0.9 * total and total > 0) as p90,
    min(bin) filter (where upto >= 0.99 * total and total > 0) as p99,
    min(bin) filter (where upto >= 0.999 * total and total > 0) as p999
  from counted group by 1, 2, 3
)
select s.stream, s.kind, (select count(distinct observed_on)::int from vitalsync.lateness l
    where l.account = s.account and l.stream = s.stream) as days,
  s.records::bigint as records, s.found::bigint as found,
  interval '1 minute' * power(2, s.p50 / 4.0) as median, interval '1 minute' * power(2, s.p90 / 4.0) as p90,
  interval '1 minute' * power(2, s.p99 / 4.0) as p99, interval '1 minute' * power(2, s.p999 / 4.0) as p999,
  interval '1 millisecond' * t.settle_ms as settle_time, t.basis,
  (select coalesce(sum(d.records), 0)::bigint from vitalsync.silent_differences d
    where d.account = s.account and d.stream = s.stream and d.found_at > now() - interval '30 days') as silent_differences
from summed s left join vitalsync.settle_times t on t.account = s.account and t.stream = s.stream;
comment on view   warehouse.lateness is 'Per stream, how long after its cause (the end of its period, or a push) a record first came, and how long after it a record changed. An upper bound: the change came at some time before the reading that found it.';
comment on column warehouse.lateness.stream is 'The stream.';
comment on column warehouse.lateness.kind is 'came: when a reading found the record for the first time; changed: when a reading found it changed, gone or back.';
comment on column warehouse.lateness.days is 'Over how many days of the last 60 was counted.';
comment on column warehouse.lateness.records is 'How many records were watched, at the age at which most were.';
comment on column warehouse.lateness.found is 'How many came or changed.';
comment on column warehouse.lateness.median is 'Half of what came or changed did so at this age or earlier.';
comment on column warehouse.lateness.p90 is 'Nine tenths did so at this age or earlier.';
comment on column warehouse.lateness.p99 is 'Ninety-nine of a hundred did so at this age or earlier.';
comment on column warehouse.lateness.p999 is 'All but one of a thousand did so at this age or earlier.';
comment on column warehouse.lateness.settle_time is 'The settle time in force, within the bounds of the settings. Empty until it was computed.';
comment on column warehouse.lateness.basis is 'What the settle time follows from: fallback, measured, extrapolated or longer. See `vitalsync explain settle`.';
comment on column warehouse.lateness.silent_differences is 'Records of the last 30 days that a reading changed after their day had been called covered.';
