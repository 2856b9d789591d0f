-- Wear, valid days and weeks, and adherence by cohort, from vitalsync.log_days.

alter table vitalsync.profiles add column cohort text collate "C" check (length(cohort) between 1 and 100);
comment on column vitalsync.profiles.cohort is 'A group of people of a study, from the column cohort of an imported file.';

-- The minutes of the local day in which a log proves that a device was worn.

create table vitalsync.wear_measures (
  measure       text collate "C" primary key,
  kinds         text[] not null,
  minutes_min   integer not null check (minutes_min between 1 and 1440),
  days_min      integer not null check (days_min between 1 and 7),
  source        text not null
);
insert into vitalsync.wear_measures values
  ('activity', array['steps', 'movement', 'heart', 'vitals', 'exercise'], 600, 4, 'Troiano et al. 2008, Med Sci Sports Exerc 40(1):181-188: ten hours a day, four days'),
  ('heart', array['heart', 'vitals'], 600, 4, 'as activity: ten hours of heart rate'),
  ('sleep', array['sleep'], 180, 5, 'the shortest night of the derivation; five nights of seven: Acebo et al. 1999, Sleep 22(1):95-103');
comment on table  vitalsync.wear_measures is 'When a day and a week are valid for a measure: the parameters of warehouse.valid_days and warehouse.valid_weeks. The owner of the warehouse may change and add rows.';
comment on column vitalsync.wear_measures.kinds is 'The kinds of logs whose minutes count.';

create view warehouse.wear as
select p.external_id, d.local_date, bit_count(bit_or(d.minutes))::int as worn_minutes,
  coalesce(max(bit_count(d.minutes)) filter (where d.kind = 'steps'), 0)::int as steps_minutes,
  coalesce(max(bit_count(d.minutes)) filter (where d.kind = 'movement'), 0)::int as movement_minutes,
  coalesce(max(bit_count(d.minutes)) filter (where d.kind = 'heart'), 0)::int as heart_minutes,
  coalesce(max(bit_count(d.minutes)) filter (where d.kind = 'vitals'), 0)::int as vitals_minutes,
  coalesce(max(bit_count(d.minutes)) filter (where d.kind = 'sleep'), 0)::int as sleep_minutes,
  coalesce(max(bit_count(d.minutes)) filter (where d.kind = 'exercise'), 0)::int as exercise_minutes,
  string_agg(d.kind, '+' order by d.kind) filter (where bit_count(d.minutes) > 0) as method
from vitalsync.log_days d join vitalsync.profiles p on p.id = d.profile_id
where d.kind in ('steps', 'movement', 'heart', 'vitals', 'sleep', 'exercise')
group by p.external_id, d.profile_id, d.local_date;
comment on view   warehouse.wear is 'Per person and local day with logs: in how many minutes a log proves that a device was worn, in all and by kind of log.';
comment on column warehouse.wear.external_id is 'The name by which the person is known upstream.';
comment on column warehouse.wear.local_date is 'The day, in the offset of the logs.';
comment on column warehouse.wear.worn_minutes is 'Minutes of the day that at least one of these logs covers. A sample stands for five minutes.';
comment on column warehouse.wear.steps_minutes is 'Minutes that intervals with steps cover.';
comment on column warehouse.wear.movement_minutes is 'Minutes that other movement covers, such as distance.';
comment on column warehouse.wear.heart_minutes is 'Minutes with a heart rate.';
comment on column warehouse.wear.vitals_minutes is 'Minutes with other vital signs.';
comment on column warehouse.wear.sleep_minutes is 'Minutes of sleep.';
comment on column warehouse.wear.exercise_minutes is 'Minutes of exercise.';
comment on column warehouse.wear.method is 'The kinds of logs that prove the wear, joined by +; null where none covers a minute.';

create view warehouse.valid_days as
select p.external_id, p.cohort, m.measure, c.day as local_date, coalesce(w.worn_minutes, 0) as worn_minutes,
  m.minutes_min as needed_minutes, coalesce(w.worn_minutes, 0) >= m.minutes_min as valid
from vitalsync.profiles p
join vitalsync.calendar c on c.day >= (p.wanted_from at time zone 'UTC')::date and c.day < (now() at time zone 'UTC')::date
  and c.day >= (select (min(wanted_from) at time zone 'UTC')::date from vitalsync.profiles)
cross join vitalsync.wear_measures m
left join lateral (
  select d.profile_id, bit_count(bit_or(d.minutes))::int as worn_minutes from vitalsync.log_days d
  where d.profile_id = p.id and d.local_date = c.day and d.kind = any(m.kinds) group by d.profile_id) w on true
where p.state <> 'gone';
comment on view   warehouse.valid_days is 'Per person, measure and day from the first wanted day to yesterday: whether it was worn for long enough to count. vitalsync.wear_measures has the parameters.';
comment on column warehouse.valid_days.external_id is 'The name by which the person is known upstream.';
comment on column warehouse.valid_days.cohort is 'The cohort of the person, where the import of profiles named one.';
comment on column warehouse.valid_days.measure is 'activity, heart, sleep, or a measure that the owner of the warehouse has added.';
comment on column warehouse.valid_days.local_date is 'The day, in the offset of the logs.';
comment on column warehouse.valid_days.worn_minutes is 'Minutes of the day that a log of the measure''s kinds covers.';
comment on column warehouse.valid_days.needed_minutes is 'How many the measure asks for.';
comment on column warehouse.valid_days.valid is 'Whether they are enough.';

create view warehouse.valid_weeks as
select d.external_id, d.cohort, d.measure, date_trunc('week', d.local_date)::date as week, count(*)::int as days,
  count(*) filter (where d.valid)::int as valid_days, m.days_min as needed_days, count(*) filter (where d.valid) >= m.days_min as valid
from warehouse.valid_days d join vitalsync.wear_measures m on m.measure = d.measure
group by d.external_id, d.cohort, d.measure, date_trunc('week', d.local_date), m.days_min;
comment on view   warehouse.valid_weeks is 'Per person, measure and week: how many of its days are valid, and whether they are enough.';
comment on column warehouse.valid_weeks.external_id is 'The name by which the person is known upstream.';
comment on column warehouse.valid_weeks.cohort is 'The cohort of the person, where the import of profiles named one.';
comment on column warehouse.valid_weeks.measure is 'As in warehouse.valid_days.';
comment on column warehouse.valid_weeks.week is 'The Monday of the week.';
comment on column warehouse.valid_weeks.days is 'Wanted days of the week up to yesterday: fewer than seven in the first and the last week.';
comment on column warehouse.valid_weeks.valid_days is 'How many of them are valid.';
comment on column warehouse.valid_weeks.needed_days is 'How many the measure asks for.';
comment on column warehouse.valid_weeks.valid is 'Whether they are enough.';

create view warehouse.adherence as
select cohort, measure, week, count(*)::int as people, count(*) filter (where valid)::int as people_valid,
  sum(days)::int as days, sum(valid_days)::int as valid_days, sum(valid_days)::float8 / sum(days) as adherence
from warehouse.valid_weeks group by cohort, measure, week;
comment on view   warehouse.adherence is 'Per cohort, measure and week: which share of the days of its people is valid.';
comment on column warehouse.adherence.cohort is 'The cohort; null for people without one.';
comment on column warehouse.adherence.measure is 'As in warehouse.valid_days.';
comment on column warehouse.adherence.week is 'The Monday of the week.';
comment on column warehouse.adherence.people is 'People of the cohort with a wanted day in the week.';
comment on column warehouse.adherence.people_valid is 'How many of them have a valid week.';
comment on column warehouse.adherence.days is 'Wanted days of these people in the week.';
comment on column warehouse.adherence.valid_days is 'How many of them are valid.';
comment on column warehouse.adherence.adherence is 'Their share, 0 to 1.';
