-- What was uploaded for a profile.

-- No foreign key: every upload locks its profile's row first and an erasure takes that row away first, which is the
-- same promise for one look-up an upload instead of one a log.
-- start_day and end_day are the local dates in the log's own offsets.
create table service.logs (
  profile_id uuid not null,
  id uuid not null,
  parent_id uuid,
  log_type text collate "C" not null,
  data_type text collate "C" not null,
  value double precision not null,
  unit text not null,
  source text not null,
  recording_method text not null,
  device_type text not null,
  device_id text,
  source_id text,
  periodicity text,
  aggregation text,
  start_at timestamptz not null,
  end_at timestamptz not null,
  start_offset_minutes smallint not null,
  end_offset_minutes smallint not null,
  start_day date not null,
  end_day date not null,
  additional_properties jsonb,
  posted_at timestamptz,
  modified_at timestamptz,
  received_at timestamptz not null,
  primary key (profile_id, id)
);
create index logs_days on service.logs (profile_id, start_day, end_day);

create table service.data_sources (
  profile_id uuid not null references service.profiles on delete cascade,
  source_name text collate "C" not null,
  device_type text collate "C" not null,
  primary key (profile_id, source_name, device_type)
);

create table service.tags (
  profile_id uuid not null references service.profiles on delete cascade,
  id uuid not null,
  type text collate "C" not null check (type in ('event', 'state')),
  name text collate "C" not null,
  category text,
  value text,
  source text collate "C" not null,
  start_at timestamptz not null,
  end_at timestamptz,
  start_offset_minutes smallint not null,
  end_offset_minutes smallint,
  additional_properties jsonb,
  received_at timestamptz not null,
  primary key (profile_id, type, name, source, start_at)
);

-- Only the fields that are set; what is absent is unknown.
create table service.demographics (
  profile_id uuid primary key references service.profiles on delete cascade,
  fields jsonb not null,
  changed_at timestamptz not null
);

create table service.device_information (
  profile_id uuid primary key references service.profiles on delete cascade,
  id uuid not null,
  fields jsonb not null,
  changed_at timestamptz not null
);
