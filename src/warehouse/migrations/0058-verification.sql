-- What reading covered windows again has shown: how many, how many differed, and each that did with its cause. No value of
-- a record stands here.

create table vitalsync.verified_windows (
  verified_on   date not null,
  stream        text collate "C" not null,
  windows       bigint not null default 0,
  differing     bigint not null default 0,
  primary key (verified_on, stream)
) with (fillfactor = 70);
comment on table  vitalsync.verified_windows is 'Per UTC day and stream, the covered windows that a sentinel drew by chance and read again, and how many differed. Kept for 400 days.';

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
comment on column vitalsync.differences.mended_at is 'When the window was stored anew and equalled what upstream gives.';

create view warehouse.differences as
select p.external_id, d.stream, lower(d.span) as start_at, upper(d.span) as end_at, d.found_at, d.cause, d.missing_here,
  d.differing, d.missing_upstream, d.mended_at
from vitalsync.differences d join vitalsync.profiles p on p.id = d.profile_id;
comment on view warehouse.differences is 'Covered windows that differed from what upstream gives, when they were found, why, and when they were mended.';

-- The interval is Wilson''s at 95 %, as in `measuredRateOf`.
create view warehouse.verified as
with sums as (
  select stream, sum(windows)::float8 as windows, sum(differing)::float8 as differing
  from vitalsync.verified_windows where verified_on > (now() at time zone 'UTC')::date - 30 group by stream
), rates as (
  select stream, windows, differing, differing / windows as rate, 1.96 ^ 2 / windows as z2
  from sums where windows > 0
), intervals as (
  select *, (rate + z2 / 2) / (1 + z2) as middle,
    1.96 * sqrt(rate * (1 - rate) / windows + z2 / (4 * windows)) / (1 + z2) as spread
  from rates
)
select stream, windows::int8 as windows, differing::int8 as differing, rate, greatest(0, middle - spread) as rate_from,
  least(1, middle + spread) as rate_up_to
from intervals;
comment on view warehouse.verified is 'Per stream, the covered windows that were drawn by chance and read again in the last 30 days, the share that differed, and its 95 % interval.';
