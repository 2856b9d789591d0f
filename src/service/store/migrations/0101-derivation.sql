-- What derivation keeps to itself. Nothing here is served.

-- unit names the day, week or month a row is derived by, content is the hash of what it says: a row is written again
-- only when its content changes, and goes when its unit no longer gives it.
alter table service.derived add column unit text collate "C";
alter table service.derived add column content text;
create index derived_units on service.derived (profile_id, unit);

-- One row a local day that logs tell of. facts: what the day comes to by itself, from its logs. outcome: its factors
-- and readings, which look at earlier days too; null until first computed. Both are the bytes of one JSON object, so
-- that equal bytes mean that nothing which depends on the day has to be looked at.
create table service.day_facts (
  profile_id uuid not null references service.profiles on delete cascade,
  local_day date not null,
  facts text not null,
  outcome text,
  has_height boolean not null,
  primary key (profile_id, local_day)
);
create index day_facts_heights on service.day_facts (profile_id, local_day) where has_height;

-- as_of: the instant of the last derivation. due_at: when the passing of time alone changes something (a day, a week
-- or a month ends). retry_at: not before then after a failure.
create table service.derivations (
  profile_id uuid primary key references service.profiles on delete cascade,
  model_version text collate "C" not null,
  as_of timestamptz not null,
  due_at timestamptz,
  failures integer not null default 0,
  retry_at timestamptz
);
create index derivations_due on service.derivations (due_at) where due_at is not null;

-- Quantiles over an account's own people, for what nobody publishes a norm of.
create table service.cohorts (
  account_id uuid primary key references service.accounts on delete cascade,
  computed_at timestamptz not null,
  body text not null
);
