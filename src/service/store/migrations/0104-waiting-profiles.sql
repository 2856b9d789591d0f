-- One row for each profile that waits for derivation, so that the cost of finding the next one grows neither with the
-- number of days that wait nor with what other accounts have waiting. since: when it began to wait. change: another number
-- after each mark, so that whoever has derived the marks it saw takes the row away only if no mark came meanwhile.
-- No foreign key: its check would lock the row of the profile while other rows are held, and an erasure holds it first.
create table service.waiting_profiles (
  profile_id uuid primary key,
  account_id uuid not null,
  since timestamptz not null,
  change bigint not null default nextval('service.day_marks')
);
create index waiting_profiles_by_account on service.waiting_profiles (account_id, since);

-- Whoever marks a day makes its profile wait, in the same transaction, however the mark is made.
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

insert into service.waiting_profiles (profile_id, account_id, since)
select profile_id, account_id, min(marked_at) from service.dirty_days join service.profiles using (profile_id)
group by profile_id, account_id;

-- The facts of a marked day and of its neighbours are derived again; of a single day its own facts alone. A mark that costs
-- too much for one transaction is split into single days.
alter table service.dirty_days add column is_single boolean not null default false;
-- Profiles are ordered by waiting_profiles; the marks of one are found by the primary key.
drop index service.dirty_days_age;

-- wake_at: when the profile begins to wait again without a mark, at due_at or at retry_at. Null while it waits.
alter table service.derivations add column wake_at timestamptz;
update service.derivations set wake_at = coalesce(retry_at, due_at);
create index derivations_waking on service.derivations (wake_at) where wake_at is not null;
drop index service.derivations_due;
