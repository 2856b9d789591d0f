-- The people that are synced, who was erased, and who looked at them. Everything else names a person by our own id alone.
-- Schema `vitalsync` is internal. Analysts read the views of schema `warehouse`.
--
-- The tables of profiles can be divided among several nodes by the profile's id. So every key of such a table contains the id,
-- and what must be unique among all profiles is in `names`, which stays whole.

create table vitalsync.names (
  id            bigint generated always as identity primary key,
  external_id   text collate "C" not null unique check (length(external_id) between 1 and 100)
);
comment on table  vitalsync.names is 'The directory of the profiles: their ids are drawn here, and no two have the same name. A profile is added here first and erased here last.';
comment on column vitalsync.names.external_id is 'The name the person is known by upstream.';

create table vitalsync.profiles (
  id            bigint primary key,
  external_id   text collate "C" not null check (length(external_id) between 1 and 100),
  state         text not null default 'new' check (state in ('new', 'active', 'gone')),
  wanted_from   timestamptz not null,
  due_at        timestamptz not null default clock_timestamp(),
  finished_at   timestamptz,
  run_id        bigint,
  added_at      timestamptz not null default clock_timestamp(),
  registering_until timestamptz
);
create index profiles_due on vitalsync.profiles (due_at, id) where state <> 'gone';
create index profiles_by_name on vitalsync.profiles (external_id);
create index profiles_by_first_day on vitalsync.profiles (wanted_from);
comment on table  vitalsync.profiles is 'Every person that is synced. Everything else names a person by this id alone.';
comment on column vitalsync.profiles.id is 'Drawn in vitalsync.names.';
comment on column vitalsync.profiles.external_id is 'The name the person is known by upstream, as in vitalsync.names, for the views. It is in these two tables and nowhere else.';
comment on column vitalsync.profiles.state is 'new: to be registered upstream; active: synced; gone: upstream does not know them any more.';
comment on column vitalsync.profiles.wanted_from is 'Start of the span that nightly syncs keep covered.';
comment on column vitalsync.profiles.due_at is 'When the sweep should look at this person again. A hint: what is due is computed from the ledger.';
comment on column vitalsync.profiles.registering_until is 'Until when a registration that was sent upstream without an answer since may still take effect.';

create table vitalsync.tombstones (
  digest        bytea primary key,
  erased_at     timestamptz not null
);
comment on table vitalsync.tombstones is 'Keyed hashes of the erased, by which jobs in flight and later imports know not to bring them back.';

create table vitalsync.secrets (
  name          text primary key,
  value         bytea not null
);
comment on table vitalsync.secrets is 'Secrets of the program, sealed with TOKEN_KEY.';

create table vitalsync.audit (
  id            bigint generated always as identity primary key,
  at            timestamptz not null default clock_timestamp(),
  who           text not null,
  role          text not null,
  action        text not null,
  -- The profile that it concerned. When the profile is erased, only its name goes: that something was done stays.
  profile_id    bigint references vitalsync.names on delete set null,
  what          jsonb not null default '{}'
);
create index audit_by_time on vitalsync.audit (at);
create index audit_by_profile on vitalsync.audit (profile_id) where profile_id is not null;
comment on table vitalsync.audit is 'Who looked at health values, or acted, on the dashboard. Kept for 400 days.';
