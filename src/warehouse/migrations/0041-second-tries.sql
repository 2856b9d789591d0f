-- What a second try must know: what a failed job was to do, and where a record that did not fit was read.

alter table vitalsync.failures add column scope text collate "C" not null default '';
comment on column vitalsync.failures.scope is 'What the job was to do besides for whom, as in orders: it can be ordered again as it was.';

alter table vitalsync.quarantine add column span tstzrange;
comment on column vitalsync.quarantine.span is 'The window of the last reading that held it: what is asked for again when it has no date of its own.';
