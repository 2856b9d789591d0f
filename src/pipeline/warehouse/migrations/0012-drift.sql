-- Unknown fields, words and units of upstream, by the people in whose records they were found. No value of a record is here: names of
-- fields, words of closed lists, and units.

create table vitalsync.drift_people (
  profile_id    bigint not null references vitalsync.profiles on delete cascade,
  stream        text collate "C" not null,
  what          text collate "C" not null,
  path          text collate "C" not null,
  detail        text collate "C" not null,
  records       integer not null,
  local_date    date,
  first_seen_at timestamptz not null,
  last_seen_at  timestamptz not null,
  primary key (profile_id, stream, what, path, detail)
) with (fillfactor = 70);
comment on table  vitalsync.drift_people is 'In whose records something unknown was found. Written in the commit of the reading; of the first 200 people of each.';
comment on column vitalsync.drift_people.records is 'The most records of one reading that had it; of errors, the most in the half minute of a worker.';
comment on column vitalsync.drift_people.local_date is 'The day of one of these records.';

create table vitalsync.drift (
  id            bigint generated always as identity,
  stream        text collate "C" not null,
  what          text collate "C" not null,
  path          text collate "C" not null,
  detail        text collate "C" not null,
  reported_at   timestamptz not null default clock_timestamp(),
  last_seen_at  timestamptz not null default clock_timestamp(),
  accepted_at   timestamptz,
  accepted_by   text,
  primary key (stream, what, path, detail),
  unique (id)
);
comment on table  vitalsync.drift is 'What was found in the records of enough people, or was accepted.';
comment on column vitalsync.drift.reported_at is 'When it was reported in the log.';
comment on column vitalsync.drift.last_seen_at is 'When it was last seen, also after the people are counted no more.';

create table vitalsync.drift_fields (
  stream        text collate "C" not null,
  path          text collate "C" not null,
  records       integer not null,
  present       integer not null,
  last_seen_at  timestamptz,
  primary key (stream, path)
) with (fillfactor = 50);
comment on table  vitalsync.drift_fields is 'How often the records of a stream have a field that they may lack. A worker adds what it has counted every half minute.';
comment on column vitalsync.drift_fields.records is 'Records that were picked; halved with present when they are many.';
comment on column vitalsync.drift_fields.last_seen_at is 'When the newest answer was asked for in which a record had it.';

create table vitalsync.drift_types (
  stream        text collate "C" not null,
  type          text collate "C" not null,
  read_on       date not null,
  records       bigint not null,
  primary key (stream, type, read_on)
);
comment on table  vitalsync.drift_types is 'How many records of each type were read in a day (UTC). A worker adds what its commits have stored every half minute.';

create view warehouse.types_by_day as
select stream, type, read_on, records, records / sum(records) over (partition by stream, read_on)::float8 as share
from vitalsync.drift_types;
comment on view   warehouse.types_by_day is 'How many records of each type were read in each of the last 90 days. Those of a day that upstream calls unchanged are not read.';
comment on column warehouse.types_by_day.stream is 'The stream.';
comment on column warehouse.types_by_day.type is 'The type, or the name in streams that have names; a text that may be a value is a star.';
comment on column warehouse.types_by_day.read_on is 'The day of the reading (UTC).';
comment on column warehouse.types_by_day.records is 'Records read, also those that were stored already.';
comment on column warehouse.types_by_day.share is 'Of all records of the stream that were read on this day.';

-- A field has stopped for the people whose answers lack it since anybody's answer had it.
create view vitalsync.drift_now as
select p.* from vitalsync.drift_people p
left join vitalsync.drift_fields f on p.what = 'stopped' and f.stream = p.stream and f.path = p.path
where f.path is null or p.last_seen_at > f.last_seen_at;
comment on view vitalsync.drift_now is 'vitalsync.drift_people without those in whose answers a field was lacking that came again since, with anybody.';

create view warehouse.drift as
select d.stream, d.what, d.path, d.detail, coalesce(s.people, 0) as people, coalesce(s.records, 0) as records,
  coalesce(s.first_seen_at, d.reported_at) as first_seen_at, greatest(s.last_seen_at, d.last_seen_at) as last_seen_at,
  s.example ->> 0 as example_external_id, (s.example ->> 1)::date as example_date, d.reported_at, d.accepted_at, d.accepted_by,
  d.id, case when s.people is null and f.last_seen_at > d.reported_at then f.last_seen_at end as came_again_at
from vitalsync.drift d left join vitalsync.drift_fields f on d.what = 'stopped' and f.stream = d.stream and f.path = d.path
left join (
  select q.stream, q.what, q.path, q.detail, count(*)::int as people, sum(q.records)::int as records,
    min(q.first_seen_at) as first_seen_at, max(q.last_seen_at) as last_seen_at,
    min(json_build_array(p.external_id, q.local_date)::text)::json as example
  from vitalsync.drift_now q join vitalsync.profiles p on p.id = q.profile_id
  group by q.stream, q.what, q.path, q.detail) s
  on (s.stream, s.what, s.path, s.detail) = (d.stream, d.what, d.path, d.detail);
comment on view   warehouse.drift is 'What upstream says that is not known, once it was found in the records of enough people. docs/how-to/drift.md says what each means.';
comment on column warehouse.drift.id is 'By which vitalsync drift accept names it.';
comment on column warehouse.drift.stream is 'The stream.';
comment on column warehouse.drift.first_seen_at is 'When a reading first held it.';
comment on column warehouse.drift.last_seen_at is 'When it was last seen, to half a minute once its people are counted no more.';
comment on column warehouse.drift.reported_at is 'When it was reported in the log, once for the whole fleet.';
comment on column warehouse.drift.accepted_at is 'When it was accepted; empty: it was not.';
comment on column warehouse.drift.what is 'extra, missing, stopped, null, type, word, case, precision, kind, unit, order, duplicates, pages or error.';
comment on column warehouse.drift.path is 'The field; a name that may be data is a star.';
comment on column warehouse.drift.detail is 'The word, the unit or the JSON type.';
comment on column warehouse.drift.came_again_at is 'When anybody had a stopped field again; empty while people lack it.';
comment on column warehouse.drift.people is 'In how many people''s records it was found; counted up to 200.';
comment on column warehouse.drift.records is 'In how many records of them: of each person the most of one reading.';
comment on column warehouse.drift.example_external_id is 'One of these people.';
comment on column warehouse.drift.example_date is 'The day of one of the records.';
comment on column warehouse.drift.accepted_by is 'Who accepted it, by vitalsync drift accept.';
