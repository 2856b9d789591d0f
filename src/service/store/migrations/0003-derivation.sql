-- What is derived from the logs and served, and what derivation keeps to itself.

-- `body` is what is served: one JSON object, sent as it stands. name is a score's or biomarker's type as well.
-- [period_start, period_end], both inclusive, is what a query's window is compared with. No period is longer than 40
-- days: a read relies on it to find the rows that touch its window by period_start alone.
-- unit names the day, week or month a row is derived by, content is the hash of what it says: a row is written again
-- only when its content changes, and goes when its unit no longer gives it. Neither is served.
-- A writer of this table, or a reader that deletes dirty_days, locks the profile's row first (for key share), as an erasure does:
-- rows are locked in one order, and nothing is written for a profile that is gone.
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
  unit text collate "C",
  content text,
  primary key (profile_id, id),
  check (period_end between period_start and period_start + interval '40 days')
);
-- A read looks at every record that began up to 40 days before its window, to find those that reach into it. With the end
-- of the period in the index too, what ended before the window costs no look at its row.
create index derived_windows on service.derived (profile_id, kind, period_start, period_end);
create index derived_units on service.derived (profile_id, unit);

-- One number a profile that changes with every change of its derived records, in the same transaction.
-- A service that kept an answer learns from it in one short look whether the answer still holds.
create table service.derived_revisions (
  profile_id uuid primary key references service.profiles on delete cascade,
  revision bigint not null
);

-- A tag that a client holds must stand for no other records, ever. A number of a sequence comes back when the database is
-- restored from a backup, or a new one is made at the same address: the client would hear that nothing has changed. So a
-- revision is the instant of the change in microseconds, and at least one more than the revision before it.
create function service.revision_now() returns bigint language sql volatile as $$
  select (extract(epoch from clock_timestamp()) * 1000000)::bigint
$$;

create function service.note_derived_change() returns trigger language plpgsql as $$
begin
  -- In order of id: two writers that touch several profiles must not wait for each other.
  insert into service.derived_revisions as r (profile_id, revision)
  select profile_id, service.revision_now() from (select distinct profile_id from changed order by 1) c
  on conflict (profile_id) do update set revision = greatest(r.revision + 1, excluded.revision);
  return null;
end $$;

-- A profile that is being erased takes its revision along: what is deleted with it has nothing left to note.
create function service.note_derived_loss() returns trigger language plpgsql as $$
begin
  update service.derived_revisions r set revision = greatest(r.revision + 1, service.revision_now())
  from (select distinct profile_id from changed) c where c.profile_id = r.profile_id;
  return null;
end $$;

create trigger derived_inserted after insert on service.derived
  referencing new table as changed for each statement execute function service.note_derived_change();
create trigger derived_updated after update on service.derived
  referencing new table as changed for each statement execute function service.note_derived_change();
create trigger derived_deleted after delete on service.derived
  referencing old table as changed for each statement execute function service.note_derived_loss();

-- Days whose derivation is due. Every later upload renews a mark. A derivation deletes only the marks that it saw, so that it
-- never deletes one that came while it was computing. marked_at is kept when a mark is renewed: it says since when the day has been
-- waiting. is_single: the facts of a marked day and of its neighbours are derived again, but of a single day its own facts alone; a
-- mark that costs too much for one transaction is split into single days.
create sequence service.day_marks;
create table service.dirty_days (
  profile_id uuid not null references service.profiles on delete cascade,
  local_day date not null,
  mark bigint not null default nextval('service.day_marks'),
  marked_at timestamptz not null,
  is_single boolean not null default false,
  primary key (profile_id, local_day)
);

-- One row for each profile that waits for derivation, so that the cost of finding the next one grows neither with the
-- number of days that wait nor with what other accounts have waiting. since: when it began to wait. change: another number
-- after each mark, so that a derivation of the marks that it saw deletes the row only if no mark came meanwhile.
-- No foreign key: its check would lock the row of the profile while other rows are held, and an erasure holds it first.
create table service.waiting_profiles (
  profile_id uuid primary key,
  account_id uuid not null,
  since timestamptz not null,
  change bigint not null default nextval('service.day_marks')
);
create index waiting_profiles_by_account on service.waiting_profiles (account_id, since);

-- A marked day makes its profile wait, in the same transaction, however the mark is made.
create function service.note_waiting() returns trigger language plpgsql as $$
begin
  insert into service.waiting_profiles (profile_id, account_id, since)
  select p.profile_id, p.account_id, c.since
  from (select profile_id, min(marked_at) as since from changed group by profile_id) c
  join service.profiles p using (profile_id) order by p.profile_id
  on conflict (profile_id) do update set change = excluded.change;
  return null;
end $$;

create trigger days_marked after insert on service.dirty_days
  referencing new table as changed for each statement execute function service.note_waiting();
create trigger days_marked_again after update on service.dirty_days
  referencing new table as changed for each statement execute function service.note_waiting();

-- The days that a log touched before it was replaced. A statement that looked for the former logs would cost as much as the person has
-- logs, with the plan that is made and kept while the table is empty. A log that touches more days is too long to belong to any.
create function service.mark_former_days() returns trigger language plpgsql as $$
begin
  insert into service.dirty_days (profile_id, local_day, marked_at)
  select distinct f.profile_id, f.start_day + n, (select max(received_at) from written)
  from former f cross join lateral generate_series(0, f.end_day - f.start_day) n
  where f.end_day - f.start_day <= 3
  on conflict (profile_id, local_day) do update set mark = excluded.mark, is_single = false;
  return null;
end $$;

create trigger logs_replaced after update on service.logs
  referencing old table as former new table as written for each statement execute function service.mark_former_days();

-- One row a local day with logs. facts: what the day comes to from its own logs. outcome: its factors
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
-- or a month ends). retry_at: not before then after a failure. wake_at: when the profile begins to wait again without a mark, at
-- due_at or at retry_at; null while it waits. source_priority: the order that the profile's days were derived by; where it is not
-- the account's, all its days are due.
create table service.derivations (
  profile_id uuid primary key references service.profiles on delete cascade,
  model_version text collate "C" not null,
  source_priority text[] not null default '{}',
  as_of timestamptz not null,
  due_at timestamptz,
  failures integer not null default 0,
  retry_at timestamptz,
  wake_at timestamptz
);
create index derivations_waking on service.derivations (wake_at) where wake_at is not null;

-- Quantiles over an account's own people, for figures without a published norm.
create table service.cohorts (
  account_id uuid primary key references service.accounts on delete cascade,
  computed_at timestamptz not null,
  body text not null
);
