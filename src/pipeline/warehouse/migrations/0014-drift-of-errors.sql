-- The names of the kinds of drift, with that of an error whose body has another form.

comment on column warehouse.drift.what is 'extra, missing, stopped, null, type, word, case, precision, kind, unit, order, duplicates, pages or error.';
comment on column vitalsync.drift_people.records is 'The most records of one reading that had it; of errors, the most in the half minute of a worker.';
