-- What the processes of the fleet share: tokens, the request budget, signs of life, and counts for metrics.
-- Tables that a crash may empty are not logged: the processes write their rows again.

create table vitalsync.tokens (
  account         text collate "C" not null,
  profile_id      bigint references vitalsync.names on delete cascade,
  generation      bigint not null default 0,
  sealed          bytea,
  issued_at       timestamptz,
  expires_at      timestamptz,
  refresh_taken   integer not null default 0,
  proven          boolean not null default false,
  unproven_before integer not null default 0,
  lease_holder    uuid,
  lease_until     timestamptz,
  broken_reason   text,
  broken_until    timestamptz,
  broken_openings integer not null default 0,
  unique nulls not distinct (account, profile_id)
) with (fillfactor = 70);
create index tokens_of_profile on vitalsync.tokens (profile_id);
comment on table  vitalsync.tokens is 'One row per token: the account''s own (no profile_id) and one per profile.';
comment on column vitalsync.tokens.account is 'Digest of upstream''s address and the client id.';
comment on column vitalsync.tokens.generation is 'Grows by one with every token; a refusal speaks of one generation only.';
comment on column vitalsync.tokens.sealed is 'AES-256-GCM of the token and its refresh token, bound to account, profile and generation; the key''s id comes first.';
comment on column vitalsync.tokens.refresh_taken is 'Leases since the token was stored. Only the first may spend the refresh token: spent twice, upstream revokes all.';
comment on column vitalsync.tokens.proven is 'Somebody has seen this generation accepted.';
comment on column vitalsync.tokens.unproven_before is 'Generations in a row before this one that nobody saw accepted.';
comment on column vitalsync.tokens.lease_until is 'Until then nobody else may renew; a holder that died loses the lease by time.';
comment on column vitalsync.tokens.broken_until is 'Until then nothing is asked with this token, for broken_reason.';

create unlogged table vitalsync.budget_lines (
  member        text primary key,
  line          jsonb not null,
  seen_at       timestamptz not null
) with (fillfactor = 50);
comment on table vitalsync.budget_lines is 'One line per living process: what it has under way and waiting, and how upstream answers it.';

create unlogged table vitalsync.budget_state (
  only_one      boolean primary key default true check (only_one),
  version       bigint not null,
  state         jsonb not null
) with (fillfactor = 50);
comment on table vitalsync.budget_state is 'What the whole fleet goes by: requests a second and in flight, and until when it pauses.';

create unlogged table vitalsync.budget_rate (
  key           varchar(255) primary key,
  points        integer not null default 0,
  expire        bigint
) with (fillfactor = 50);
comment on table vitalsync.budget_rate is 'The requests of the present second, in the shape rate-limiter-flexible keeps them.';

create function vitalsync.exchange_budget_line(mine text, written jsonb, kept_ms float8,
  out now_ms float8, out state jsonb, out lines jsonb) language plpgsql as $$
begin
  -- No advisory lock: every role that may connect can hold one. Not on the lines: the lock keeps autovacuum away.
  lock table vitalsync.budget_state in share row exclusive mode;
  insert into vitalsync.budget_lines values (mine, written, clock_timestamp())
    on conflict (member) do update set line = excluded.line, seen_at = excluded.seen_at;
  delete from vitalsync.budget_lines b where b.seen_at < clock_timestamp() - kept_ms * interval '1 ms';
  select coalesce(jsonb_agg(b.line), '[]') into lines from vitalsync.budget_lines b;
  select s.state into state from vitalsync.budget_state s;
  now_ms := extract(epoch from clock_timestamp()) * 1000;
end $$;
comment on function vitalsync.exchange_budget_line is 'Writes one line and reads all living ones, one caller after the other.';

-- Workers show life in the database: a connection to the queue stays open while its process is frozen.
create unlogged table vitalsync.workers (
  id            text primary key,
  queue         text not null,
  form          integer not null default 1,
  seen_at       timestamptz not null,
  troubles      jsonb not null default '[]'
) with (fillfactor = 50);
comment on table  vitalsync.workers is 'One row per worker process: which queue it works on, and when it last showed life.';
comment on column vitalsync.workers.queue is 'The identity of the queue, stored in the queue itself: equal for all who use the same one, however they address it.';
comment on column vitalsync.workers.form is 'The newest form of jobs that it reads.';
comment on column vitalsync.workers.troubles is 'Per lane in which no job has succeeded since: why, since when and until when the worker waits, [{lane, reason, sinceAt, untilAt, attempts}, ...].';

create unlogged table vitalsync.shared_facts (
  name          text primary key,
  facts         jsonb,
  asked_at      timestamptz,
  due_at        timestamptz not null default '-infinity',
  leased_until  timestamptz not null default '-infinity'
) with (fillfactor = 50);
comment on table  vitalsync.shared_facts is 'Counts over the whole warehouse and queue for metrics and readiness, and when one process may compute them again.';
comment on column vitalsync.shared_facts.due_at is 'Before this instant nobody asks again.';
comment on column vitalsync.shared_facts.leased_until is 'Until then one process is asking.';
