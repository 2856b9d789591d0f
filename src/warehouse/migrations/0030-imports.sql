-- How far each file import came, so that one that was stopped goes on where it was.

create table vitalsync.imports (
  id            bigint generated always as identity primary key,
  kind          text not null,
  identity      bytea not null,
  position      bigint not null default 0,
  line          bigint not null default 0,
  tail          bytea not null,
  rejects_bytes bigint not null default 0,
  read          bigint not null default 0,
  accepted      bigint not null default 0,
  duplicate     bigint not null default 0,
  rejected      bigint not null default 0,
  started_at    timestamptz not null default clock_timestamp(),
  touched_at    timestamptz not null default clock_timestamp(),
  finished_at   timestamptz,
  unique (kind, identity)
);
comment on table  vitalsync.imports is 'Files that were or are being taken into the outbox.';
comment on column vitalsync.imports.identity is 'Digest of the beginning of the file and of how it is read: known again after a stop, whatever its name.';
comment on column vitalsync.imports.position is 'Bytes taken in: everything before them is in the outbox or among the rejects.';
comment on column vitalsync.imports.tail is 'Digest of the bytes just before the position: a file that was changed there begins anew.';
comment on column vitalsync.imports.rejects_bytes is 'How long the rejects file was at the position; what is beyond it is written again.';
