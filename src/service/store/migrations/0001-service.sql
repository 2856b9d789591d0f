-- The Profile Service's own tables. No function here asks for the time: instants come from the caller, whose clock a
-- sandbox may move.

create table service.accounts (
  account_id uuid primary key,
  name text not null unique,
  created_at timestamptz not null
);

-- One key is a public id and the hash of a secret: clientId/clientSecret (kind client) or appId/appSecret (kind app).
create table service.api_keys (
  public_id text collate "C" primary key,
  account_id uuid not null references service.accounts on delete cascade,
  kind text not null check (kind in ('client', 'app')),
  secret_hash bytea not null,
  label text not null default '',
  created_at timestamptz not null,
  revoked_at timestamptz
);
create index api_keys_account on service.api_keys (account_id);

create table service.profiles (
  profile_id uuid primary key,
  account_id uuid not null references service.accounts on delete cascade,
  external_id text collate "C" not null,
  is_sample boolean not null default false,
  created_at timestamptz not null,
  data_last_received_at timestamptz,
  unique (account_id, external_id)
);

-- family: all tokens that descend from one issue, revoked together when a refresh token is spent twice.
create table service.tokens (
  token_hash bytea primary key,
  kind text not null check (kind in ('account', 'profile')),
  account_id uuid not null references service.accounts on delete cascade,
  profile_id uuid references service.profiles on delete cascade,
  key_id text collate "C" references service.api_keys on delete cascade,
  family uuid not null,
  read_only boolean not null default false,
  issued_at timestamptz not null,
  expires_at timestamptz not null,
  revoked_at timestamptz,
  check ((kind = 'profile') = (profile_id is not null))
);
create index tokens_family on service.tokens (family);
create index tokens_profile on service.tokens (profile_id) where profile_id is not null;
create index tokens_key on service.tokens (key_id) where key_id is not null;
create index tokens_account on service.tokens (account_id);
create index tokens_expiry on service.tokens (expires_at);

create table service.refresh_tokens (
  token_hash bytea primary key,
  profile_id uuid not null references service.profiles on delete cascade,
  family uuid not null,
  read_only boolean not null default false,
  issued_at timestamptz not null,
  expires_at timestamptz not null,
  spent_at timestamptz,
  revoked_at timestamptz
);
create index refresh_tokens_family on service.refresh_tokens (family);
create index refresh_tokens_profile on service.refresh_tokens (profile_id);
create index refresh_tokens_expiry on service.refresh_tokens (expires_at);

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

-- What is served: `body` is one JSON object, sent as it stands. name is a score's or biomarker's type as well.
-- [period_start, period_end], both inclusive, is what a query's window is compared with. No period is longer than 40
-- days: a read counts on it to find the rows that touch its window by period_start alone.
-- Whoever writes here or eats dirty_days locks the profile's row first (for key share), as an erasure does: rows are
-- locked in one order, and nothing is written for a profile that is gone.
create table service.derived (
  profile_id uuid not null references service.profiles on delete cascade,
  id uuid not null,
  kind text collate "C" not null check (kind in ('score', 'biomarker', 'archetype', 'trend', 'comparison')),
  name text collate "C" not null,
  category text collate "C",
  periodicity text collate "C",
  period_start timestamptz not null,
  period_end timestamptz not null,
  version integer not null default 1,
  created_at timestamptz not null,
  changed_at timestamptz not null,
  body text not null,
  primary key (profile_id, id),
  check (period_end between period_start and period_start + interval '40 days')
);
create index derived_reads on service.derived (profile_id, kind, period_start desc, name);

-- Days whose derivation is due. A mark is renewed by every later upload, so that whoever ate an earlier mark and
-- deletes only the mark it saw can never swallow one that came while it was computing.
create sequence service.day_marks;
create table service.dirty_days (
  profile_id uuid not null references service.profiles on delete cascade,
  local_day date not null,
  mark bigint not null default nextval('service.day_marks'),
  marked_at timestamptz not null,
  primary key (profile_id, local_day)
);
create index dirty_days_mark on service.dirty_days (mark);
