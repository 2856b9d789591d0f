-- Looks at health values and actions on the dashboard are told to those who answer for them.

create table vitalsync.audit (
  id          bigint generated always as identity primary key,
  at          timestamptz not null default clock_timestamp(),
  who         text not null,
  role        text not null,
  action      text not null,
  -- The profile whom it concerned. An erased profile is named no longer; that something was done stays.
  profile_id  bigint references vitalsync.profiles (id) on delete set null,
  what        jsonb not null default '{}'
);
comment on table vitalsync.audit is 'Who looked at health values, or acted, on the dashboard. Kept for 400 days.';
create index audit_by_time on vitalsync.audit (at);
create index audit_by_profile on vitalsync.audit (profile_id) where profile_id is not null;

create view warehouse.audit as
select a.at, a.who, a.role, a.action, p.external_id, a.what
from vitalsync.audit a left join vitalsync.profiles p on p.id = a.profile_id;
comment on view warehouse.audit is 'Who looked at health values, or acted, on the dashboard, newest last.';
comment on column warehouse.audit.at is 'When it was recorded: before the action began.';
comment on column warehouse.audit.who is 'The name by which the person signed in; local: on this machine, where nobody signs in.';
comment on column warehouse.audit.role is 'look or act; empty where a sign-in was refused.';
comment on column warehouse.audit.action is 'The action, or the look, by its name in the dashboard.';
comment on column warehouse.audit.external_id is 'The person whom it concerned; null where it concerned nobody, or an erased person.';
comment on column warehouse.audit.what is 'Our own ids and settings; no names and no values.';
