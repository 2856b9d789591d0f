-- One number a profile that changes with every change of its derived records, in the same transaction, whoever makes it.
-- A service that kept an answer learns from it in one short look whether the answer still holds.
-- Numbers come from one sequence and never come back, so that a profile erased and registered anew cannot meet an old one.
create sequence service.derived_revision;
create table service.derived_revisions (
  profile_id uuid primary key references service.profiles on delete cascade,
  revision bigint not null
);

create function service.note_derived_change() returns trigger language plpgsql as $$
begin
  -- In order of id: two writers that touch several profiles must not wait for each other.
  insert into service.derived_revisions as r (profile_id, revision)
  select profile_id, nextval('service.derived_revision') from (select distinct profile_id from changed order by 1) c
  on conflict (profile_id) do update set revision = excluded.revision;
  return null;
end $$;

-- A profile that is being erased takes its revision along: what is deleted with it has nothing left to note.
create function service.note_derived_loss() returns trigger language plpgsql as $$
begin
  update service.derived_revisions r set revision = nextval('service.derived_revision')
  from (select distinct profile_id from changed) c where c.profile_id = r.profile_id;
  return null;
end $$;

create trigger derived_inserted after insert on service.derived
  referencing new table as changed for each statement execute function service.note_derived_change();
create trigger derived_updated after update on service.derived
  referencing new table as changed for each statement execute function service.note_derived_change();
create trigger derived_deleted after delete on service.derived
  referencing old table as changed for each statement execute function service.note_derived_loss();

insert into service.derived_revisions (profile_id, revision)
select profile_id, nextval('service.derived_revision') from (select distinct profile_id from service.derived) d;
