-- Nobody knows how long upstream takes to derive from a push. So the ledger keeps what the readings since the push have
-- shown, and calls nothing settled by an assumed time.

alter table vitalsync.ledger add column touched_at timestamptz, add column rereads jsonb not null default '[]';
update vitalsync.ledger set touched_at = digested_at,
  digesting = digesting * tstzmultirange(tstzrange(null, clock_timestamp()))
where digesting <> '{}';
comment on column vitalsync.ledger.digesting is 'Spans that a push touched, and that were not read since in a way that counts.';
comment on column vitalsync.ledger.touched_at is 'When the newest push that touched what is digesting was marked as sent.';
comment on column vitalsync.ledger.rereads is 'Spans that were read since a push, and are read again until two readings agree: [[start, end, pushed, read, readings], ...] in epoch ms. Where digesting overlaps, digesting counts.';
comment on column vitalsync.ledger.digested_at is 'When the next reading of what is digesting, or read again, counts.';
