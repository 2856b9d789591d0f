-- A read looks at every record that began up to 40 days before its window, to find those that reach into it. With the end
-- of the period in the index too, what ended before the window costs no look at its row.
create index derived_windows on service.derived (profile_id, kind, period_start, period_end);
drop index service.derived_reads;
