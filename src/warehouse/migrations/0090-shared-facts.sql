-- Facts of the whole fleet are asked by one process at a time and read by all. They are worth no more than the time it takes
-- to ask again, so the table is not logged.

create unlogged table vitalsync.shared_facts (
  name          text primary key,
  facts         jsonb,
  asked_at      timestamptz,
  due_at        timestamptz not null default '-infinity',
  leased_until  timestamptz not null default '-infinity'
) with (fillfactor = 50);
comment on table vitalsync.shared_facts is 'Counts over the whole warehouse and queue for metrics and readiness, and who may ask for them anew.';
comment on column vitalsync.shared_facts.due_at is 'Before this instant nobody asks again.';
comment on column vitalsync.shared_facts.leased_until is 'Until then one process is asking.';
