-- The day for which a biomarker counts, kept beside the record: reading it from the record's text took longer than all else that a
-- question of all days does. Records that were stored before this file are filled in portions by the program (fill-counted-days.ts);
-- until then the views read their texts.

alter table vitalsync.biomarkers add column counts_for date;
comment on column vitalsync.biomarkers.counts_for is 'The day for which the record counts: of a daily record the day lived, else the local date. Null where it was not filled in yet; the text tells it then.';

create function vitalsync.day_in_text(local_date date, periodicity text, body text) returns date language sql immutable parallel safe
return case when periodicity = 'daily' then vitalsync.lived_on(local_date, body) else local_date end;
comment on function vitalsync.day_in_text is 'The day for which a biomarker counts, as its text tells it.';
