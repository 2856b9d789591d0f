-- One table per stream. Each is keyed by what names the record in life, never by when or in which order it arrived; the
-- key starts with the person and the record's start, so that "what of this window do we have" is one range of one index.
-- Bookkeeping columns are the same everywhere:
--   raw            the record as upstream sent it
--   digest         of its exact text: equal means nothing changed, and nothing is written
--   read_at        when the request that brought this version was sent
--   first_seen_at, changed_at, gone_at, revision     its life here

create table vitalsync.scores (
  profile_id      bigint not null,
  score_date_time timestamptz not null,
  type            text collate "C" not null,
  local_date      date,
  value           double precision,
  state           text,
  created_at      timestamptz,
  raw             jsonb not null,
  digest          bigint not null,
  read_at         timestamptz not null,
  first_seen_at   timestamptz not null,
  changed_at      timestamptz not null,
  gone_at         timestamptz,
  revision        integer not null default 1,
  primary key (profile_id, score_date_time, type)
) with (fillfactor = 90);

create table vitalsync.biomarkers (
  profile_id      bigint not null,
  start_date_time timestamptz not null,
  type            text collate "C" not null,
  category        text collate "C" not null,
  periodicity     text collate "C" not null,
  aggregation     text collate "C" not null,
  end_date_time   timestamptz not null,
  local_date      date,
  value           text,
  unit            text,
  value_type      text,
  raw             jsonb not null,
  digest          bigint not null,
  read_at         timestamptz not null,
  first_seen_at   timestamptz not null,
  changed_at      timestamptz not null,
  gone_at         timestamptz,
  revision        integer not null default 1,
  primary key (profile_id, start_date_time, type, category, periodicity, aggregation, end_date_time)
) with (fillfactor = 90);

create table vitalsync.archetypes (
  profile_id      bigint not null,
  start_date_time timestamptz not null,
  name            text collate "C" not null,
  periodicity     text collate "C" not null,
  end_date_time   timestamptz not null,
  local_date      date,
  value           text,
  data_type       text,
  ordinality      double precision,
  raw             jsonb not null,
  digest          bigint not null,
  read_at         timestamptz not null,
  first_seen_at   timestamptz not null,
  changed_at      timestamptz not null,
  gone_at         timestamptz,
  revision        integer not null default 1,
  primary key (profile_id, start_date_time, name, periodicity, end_date_time)
) with (fillfactor = 90);

create table vitalsync.trends (
  profile_id            bigint not null,
  trend_start_date_time timestamptz not null,
  name                  text collate "C" not null,
  category              text collate "C" not null,
  periodicity           text collate "C" not null,
  trend_end_date_time   timestamptz not null,
  local_date            date,
  state                 text,
  is_higher_better      boolean,
  unit                  text,
  raw                   jsonb not null,
  digest                bigint not null,
  read_at               timestamptz not null,
  first_seen_at         timestamptz not null,
  changed_at            timestamptz not null,
  gone_at               timestamptz,
  revision              integer not null default 1,
  primary key (profile_id, trend_start_date_time, name, category, periodicity, trend_end_date_time)
) with (fillfactor = 90);

create table vitalsync.comparisons (
  profile_id      bigint not null,
  start_date_time timestamptz not null,
  name            text collate "C" not null,
  category        text collate "C" not null,
  periodicity     text collate "C" not null,
  end_date_time   timestamptz not null,
  local_date      date,
  value           double precision,
  unit            text,
  is_higher_better boolean,
  raw             jsonb not null,
  digest          bigint not null,
  read_at         timestamptz not null,
  first_seen_at   timestamptz not null,
  changed_at      timestamptz not null,
  gone_at         timestamptz,
  revision        integer not null default 1,
  primary key (profile_id, start_date_time, name, category, periodicity, end_date_time)
) with (fillfactor = 90);

create table vitalsync.tags (
  profile_id      bigint not null,
  start_date_time timestamptz not null,
  type            text collate "C" not null,
  name            text collate "C" not null,
  source          text collate "C" not null,
  local_date      date,
  end_date_time   timestamptz,
  category        text,
  value           text,
  raw             jsonb not null,
  digest          bigint not null,
  read_at         timestamptz not null,
  first_seen_at   timestamptz not null,
  changed_at      timestamptz not null,
  gone_at         timestamptz,
  revision        integer not null default 1,
  primary key (profile_id, start_date_time, type, name, source)
) with (fillfactor = 90);

create table vitalsync.demographics (
  profile_id      bigint not null,
  age             double precision,
  gender          text,
  birth_date      text,
  country         text,
  raw             jsonb not null,
  digest          bigint not null,
  read_at         timestamptz not null,
  first_seen_at   timestamptz not null,
  changed_at      timestamptz not null,
  gone_at         timestamptz,
  revision        integer not null default 1,
  primary key (profile_id)
) with (fillfactor = 80);

create table vitalsync.device_information (
  profile_id      bigint not null,
  device_type     text,
  device_model    text,
  system          text,
  system_version  text,
  time_zone       text,
  raw             jsonb not null,
  digest          bigint not null,
  read_at         timestamptz not null,
  first_seen_at   timestamptz not null,
  changed_at      timestamptz not null,
  gone_at         timestamptz,
  revision        integer not null default 1,
  primary key (profile_id)
) with (fillfactor = 80);

create table vitalsync.history (
  profile_id      bigint not null,
  stream          text collate "C" not null,
  record_key      jsonb not null,
  revision        integer not null,
  raw             jsonb not null,
  recorded        tstzrange not null,
  gone_at         timestamptz,
  primary key (profile_id, stream, record_key, revision)
);
comment on table  vitalsync.history is 'The former selves of records that changed: what we believed, and during which span we believed it.';
comment on column vitalsync.history.recorded is 'From when to when this version was the current one here. The time it speaks of is in record_key and raw.';
