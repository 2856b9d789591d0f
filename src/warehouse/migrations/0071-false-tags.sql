-- An upstream whose tags stay the same while its records change.

create table vitalsync.false_tags (
  stream    text collate "C" primary key,
  found_at  timestamptz not null
);
comment on table  vitalsync.false_tags is 'Streams of which a verification found that upstream gave one tag for two different answers. Their tags do not count for 30 days.';
comment on column vitalsync.false_tags.found_at is 'When this was found the last time.';
