-- Upstream's tags of readings: a window is asked for again only if it has changed since.

create table vitalsync.reading_tags (
  profile_id    bigint not null references vitalsync.profiles on delete cascade,
  stream        text collate "C" not null,
  from_at       timestamptz not null,
  to_at         timestamptz not null,
  tag           text not null,
  request_hash  integer not null,
  edges         jsonb not null,
  read_at       timestamptz not null,
  primary key (profile_id, stream, from_at, to_at)
);
comment on table  vitalsync.reading_tags is 'The tag of the last reading of a window, as long as the stored records are as that reading gave them. Bounded per person and stream.';
comment on column vitalsync.reading_tags.from_at is 'Start of the window, exactly as it was asked for. A snapshot has one row, at the epoch.';
comment on column vitalsync.reading_tags.request_hash is 'A hash of the path and the query, without the person: a tag stands for the answer to one request.';
comment on column vitalsync.reading_tags.edges is 'What the reading showed about the edges of its window, [[key hashes of records that reach beyond it], reaches back].';

alter table vitalsync.ledger add column tagged boolean not null default false;
comment on column vitalsync.ledger.tagged is 'Whether the rows of reading_tags count. Set back, with no row touched, whenever stored records are not to be relied on.';
