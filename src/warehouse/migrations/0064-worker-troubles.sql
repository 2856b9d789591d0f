-- What keeps a worker from its work is told where everybody looks, and not in the log of that worker alone.

alter table vitalsync.workers add column troubles jsonb not null default '[]';
comment on column vitalsync.workers.troubles is 'Per lane in which no job has succeeded since: why, since when and until when the worker waits, [{lane, reason, sinceAt, untilAt, attempts}, ...].';
