-- One table per stream. Its key is what names the record in life, never when or in which order it arrived. The key begins with
-- the person and the record's start, so that the records of a window are one range of one index.
-- Bookkeeping columns are the same everywhere:
--   body           the record as upstream sent it, as text: jsonb costs Postgres more to store than all the rest of a record,
--                  and loses the order of keys, spaces and repeated keys
--   digest         of that text: equal means that nothing changed, and nothing is written
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
  digest          bigint not null,
  read_at         timestamptz not null,
  first_seen_at   timestamptz not null,
  changed_at      timestamptz not null,
  gone_at         timestamptz,
  revision        integer not null default 1,
  body            text not null,
  primary key (profile_id, score_date_time, type)
) with (fillfactor = 90);
create index scores_by_day on vitalsync.scores (profile_id, local_date);

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
  digest          bigint not null,
  read_at         timestamptz not null,
  first_seen_at   timestamptz not null,
  changed_at      timestamptz not null,
  gone_at         timestamptz,
  revision        integer not null default 1,
  body            text not null,
  primary key (profile_id, start_date_time, type, category, periodicity, aggregation, end_date_time)
) with (fillfactor = 90);
create index biomarkers_by_day on vitalsync.biomarkers (profile_id, local_date);

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
  digest          bigint not null,
  read_at         timestamptz not null,
  first_seen_at   timestamptz not null,
  changed_at      timestamptz not null,
  gone_at         timestamptz,
  revision        integer not null default 1,
  body            text not null,
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
  digest                bigint not null,
  read_at               timestamptz not null,
  first_seen_at         timestamptz not null,
  changed_at            timestamptz not null,
  gone_at               timestamptz,
  revision              integer not null default 1,
  body                  text not null,
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
  digest          bigint not null,
  read_at         timestamptz not null,
  first_seen_at   timestamptz not null,
  changed_at      timestamptz not null,
  gone_at         timestamptz,
  revision        integer not null default 1,
  body            text not null,
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
  digest          bigint not null,
  read_at         timestamptz not null,
  first_seen_at   timestamptz not null,
  changed_at      timestamptz not null,
  gone_at         timestamptz,
  revision        integer not null default 1,
  body            text not null,
  primary key (profile_id, start_date_time, type, name, source)
) with (fillfactor = 90);

create table vitalsync.demographics (
  profile_id      bigint not null,
  age             double precision,
  gender          text,
  birth_date      text,
  country         text,
  digest          bigint not null,
  read_at         timestamptz not null,
  first_seen_at   timestamptz not null,
  changed_at      timestamptz not null,
  gone_at         timestamptz,
  revision        integer not null default 1,
  body            text not null,
  primary key (profile_id)
) with (fillfactor = 80);

create table vitalsync.device_information (
  profile_id      bigint not null,
  device_type     text,
  device_model    text,
  system          text,
  system_version  text,
  time_zone       text,
  digest          bigint not null,
  read_at         timestamptz not null,
  first_seen_at   timestamptz not null,
  changed_at      timestamptz not null,
  gone_at         timestamptz,
  revision        integer not null default 1,
  body            text not null,
  primary key (profile_id)
) with (fillfactor = 80);

create table vitalsync.history (
  profile_id      bigint not null,
  stream          text collate "C" not null,
  record_key      jsonb not null,
  revision        integer not null,
  recorded        tstzrange not null,
  gone_at         timestamptz,
  body            text not null,
  primary key (profile_id, stream, record_key, revision)
);
comment on table  vitalsync.history is 'The former selves of records that changed: what we believed, and during which span we believed it.';
comment on column vitalsync.history.recorded is 'From when to when this version was the current one here. The time it speaks of is in record_key and body.';
comment on column vitalsync.history.body is 'The record as it was, whole: its exact text.';

do $$
declare
  relation text;
  meaning record;
begin
  foreach relation in array
    array['scores', 'biomarkers', 'archetypes', 'trends', 'comparisons', 'tags', 'demographics', 'device_information']
  loop
    for meaning in
      select * from (values
        ('profile_id', 'Our own id of the person; see vitalsync.profiles.'),
        ('local_date', 'The calendar day to which the record belongs, in the offset it carries itself: the day on which it starts, of a night the day on which the night ends.'),
        ('body', 'The record as upstream sent it, whole: its exact text. Every one can be read as jsonb.'),
        ('digest', 'Of the record''s exact text: equal means that nothing changed, and nothing is written.'),
        ('read_at', 'When the request that brought this version was sent. An older reading never replaces a newer one.'),
        ('first_seen_at', 'When the record was first read.'),
        ('changed_at', 'When the reading that brought this version, or found it gone, was sent.'),
        ('gone_at', 'Since when upstream does not send the record any more; null while it does. Rows are never deleted for that.'),
        ('revision', '1 at first, one more with each change. Former ones are in history.')
      ) as m(name, text)
      where exists (select from pg_attribute
        where attrelid = format('vitalsync.%I', relation)::regclass and attname = m.name)
    loop
      execute format('comment on column vitalsync.%I.%I is %L', relation, meaning.name, meaning.text);
    end loop;
  end loop;
end $$;

-- Text that is a number, as biomarkers have it; null for anything else. Most values are digits alone, which need no regular
-- expression.
create function vitalsync.number_of(value text) returns double precision language sql immutable parallel safe
return case
  when translate(value, '0123456789', '') = '' and octet_length(value) between 1 and 39 then value::double precision
  when translate(value, '0123456789', '') = '.' and octet_length(value) between 2 and 39 then value::double precision
  when value ~ '^\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?\s*$' and length(value) < 40 then value::double precision end;
