-- A tag that a client holds must stand for no other records, ever. A number of a sequence comes back when the database is
-- restored from a backup, or made anew at the same address: the client would be told that nothing has changed. So a
-- revision is the instant of the change in microseconds, and at least one more than the revision before it.
create or replace function service.note_derived_change() returns trigger language plpgsql as $$
begin
  -- In order of id: two writers that touch several profiles must not wait for each other.
  insert into service.derived_revisions as r (profile_id, revision)
  select profile_id, service.revision_now() from (select distinct profile_id from changed order by 1) c
  on conflict (profile_id) do update set revision = greatest(r.revision + 1, excluded.revision);
  return null;
end $$;

-- A profile that is being erased takes its revision along: what is deleted with it has nothing left to note.
create or replace function service.note_derived_loss() returns trigger language plpgsql as $$
begin
  update service.derived_revisions r set revision = greatest(r.revision + 1, service.revision_now())
  from (select distinct profile_id from changed) c where c.profile_id = r.profile_id;
  return null;
end $$;

create function service.revision_now() returns bigint language sql volatile as $$
  select (extract(epoch from clock_timestamp()) * 1000000)::bigint
$$;

drop sequence service.derived_revision;
