-- What the processes of the fleet tell one another about the request budget. Nothing here outlives a second's worth of
-- work, so none of it is logged: after a crash the fleet starts from its configured budget.

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

create function vitalsync.exchange_budget_line(mine text, written jsonb, kept_ms float8,
  out now_ms float8, out state jsonb, out lines jsonb) language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('vitalsync budget', 0));
  insert into vitalsync.budget_lines values (mine, written, clock_timestamp())
    on conflict (member) do update set line = excluded.line, seen_at = excluded.seen_at;
  delete from vitalsync.budget_lines b where b.seen_at < clock_timestamp() - kept_ms * interval '1 ms';
  select coalesce(jsonb_agg(b.line), '[]') into lines from vitalsync.budget_lines b;
  select s.state into state from vitalsync.budget_state s;
  now_ms := extract(epoch from clock_timestamp()) * 1000;
end $$;
comment on function vitalsync.exchange_budget_line is 'Writes one line and reads all living ones, one caller after the other.';

create unlogged table vitalsync.budget_rate (
  key           varchar(255) primary key,
  points        integer not null default 0,
  expire        bigint
) with (fillfactor = 50);
comment on table vitalsync.budget_rate is 'The requests of the present second, in the shape rate-limiter-flexible keeps them.';
