-- The tables of profiles can lie on several nodes, divided by the profile's id. What must be unique among all profiles stands in a
-- directory of its own, which stays whole; every key of a table that is divided contains the profile's id. The tables are the same
-- where nothing is divided.

lock table vitalsync.profiles in access exclusive mode;

create table vitalsync.names (
  id            bigint generated always as identity primary key,
  external_id   text collate "C" not null unique check (length(external_id) between 1 and 100)
);
insert into vitalsync.names (id, external_id) overriding system value select id, external_id from vitalsync.profiles;
-- The id of an erased profile is never given again.
select setval(pg_get_serial_sequence('vitalsync.names', 'id'), nextval(pg_get_serial_sequence('vitalsync.profiles', 'id')), false);
comment on table  vitalsync.names is 'The directory of the profiles: their ids are drawn here, and no two have the same name. A profile is added here first and erased here last.';
comment on column vitalsync.names.external_id is 'The name the person is known by upstream.';

alter table vitalsync.profiles drop constraint profiles_external_id_key, alter id drop identity;
comment on column vitalsync.profiles.id is 'Drawn in vitalsync.names.';
comment on column vitalsync.profiles.external_id is 'The name the person is known by upstream, as in vitalsync.names, for the views. Stands in these two tables and nowhere else.';

alter table vitalsync.tokens drop constraint tokens_profile_id_fkey,
  add foreign key (profile_id) references vitalsync.names on delete cascade;
alter table vitalsync.audit drop constraint audit_profile_id_fkey,
  add foreign key (profile_id) references vitalsync.names on delete set null;

alter table vitalsync.parcels drop constraint parcels_pkey, add primary key (profile_id, id);
alter table vitalsync.quarantine drop constraint quarantine_pkey, add primary key (profile_id, id);
create index quarantine_by_id on vitalsync.quarantine (id);
alter table vitalsync.silent_differences drop constraint silent_differences_pkey, add primary key (profile_id, id);
drop index vitalsync.silent_differences_profile;

create or replace view warehouse.audit as
select a.at, a.who, a.role, a.action, n.external_id, a.what
from vitalsync.audit a left join vitalsync.names n on n.id = a.profile_id;
