-- Workers show life in the database: a connection to the queue stays open while its process is frozen. Nothing here is worth
-- more than a heartbeat, so none of it is logged: after a crash the workers write their rows again.

create unlogged table vitalsync.workers (
  id            text primary key,
  queue         text not null,
  seen_at       timestamptz not null
) with (fillfactor = 50);
comment on table vitalsync.workers is 'One row per worker process: which queue it works on, and when it last showed life.';
comment on column vitalsync.workers.queue is 'The identity of the queue, stored in the queue itself: equal for all who use the same one, however they address it.';
