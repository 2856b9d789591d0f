-- A question about one person, or about one day, reads that person's or that day's rows: the ready-made views begin with the
-- profiles and the calendar, and look up the records of each. Aggregates and windows over everybody stood in the way of both
-- conditions before.

-- Text that is a number. Nearly all values are digits with at most one point, which need no regular expression.
create or replace function vitalsync.number_of(value text) returns double precision language sql immutable parallel safe
return case
  when translate(value, '0123456789', '') in ('', '.') and length(value) between 1 and 39 and value <> '.' then value::double precision
  when value ~ '^\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?\s*$' and length(value) < 40 then value::double precision end;

-- The day to which people count a record: one that starts in the afternoon, as sleep days do, belongs to the next. The hour is
-- looked for in the text; only a text that is written with spaces is parsed as JSON.
create function vitalsync.lived_on(local_date date, body text) returns date language sql immutable parallel safe
return local_date + case when case when strpos(body, '"startDateTime":"') > 0
    then substr(body, strpos(body, '"startDateTime":"') + 28, 2)
    else substr(body::json ->> 'startDateTime', 12, 2) end >= '12' then 1 else 0 end;
update vitalsync.day_streams
set first_day = $$case when r.periodicity = 'daily' then vitalsync.lived_on(r.local_date, r.body) else r.local_date end$$
where stream = 'biomarkers';
select vitalsync.define_days();
drop function vitalsync.start_text(text);

-- What a person has of daily records within the day c: the scores of its local date, the biomarkers of the day lived.
create or replace view warehouse.person_days as
select p.external_id, c.day as local_date,
  s.wellbeing, s.activity, s.sleep, s.readiness, s.mental_wellbeing,
  b.steps, b.active_hours, b.active_duration, b.active_energy_burned, b.sleep_duration, b.sleep_efficiency,
  b.sleep_regularity, b.heart_rate_resting, b.heart_rate_variability_sdnn, b.heart_rate_variability_rmssd, b.vo2_max, b.weight
from vitalsync.profiles p
cross join lateral (
  select least((select min(score_date_time) from vitalsync.scores where profile_id = p.id),
      (select min(start_date_time) from vitalsync.biomarkers where profile_id = p.id)) as first_at,
    greatest((select max(score_date_time) from vitalsync.scores where profile_id = p.id),
      (select max(start_date_time) from vitalsync.biomarkers where profile_id = p.id)) as last_at) e
join vitalsync.calendar c
  on c.day >= (e.first_at at time zone 'UTC')::date - 1 and c.day <= (e.last_at at time zone 'UTC')::date + 2
cross join lateral (
  select count(*) as records,
    max(value) filter (where type = 'wellbeing') as wellbeing,
    max(value) filter (where type = 'activity') as activity,
    max(value) filter (where type = 'sleep') as sleep,
    max(value) filter (where type = 'readiness') as readiness,
    max(value) filter (where type = 'mental_wellbeing') as mental_wellbeing
  from vitalsync.scores r
  where r.profile_id = p.id and r.score_date_time >= c.starts_at - interval '14 hours'
    and r.score_date_time < c.starts_at + interval '36 hours' and r.local_date = c.day and r.gone_at is null) s
cross join lateral (
  select count(*) as records,
    max(vitalsync.number_of(value)) filter (where type = 'steps') as steps,
    max(vitalsync.number_of(value)) filter (where type = 'active_hours') as active_hours,
    max(vitalsync.number_of(value)) filter (where type = 'active_duration') as active_duration,
    max(vitalsync.number_of(value)) filter (where type = 'active_energy_burned') as active_energy_burned,
    max(vitalsync.number_of(value)) filter (where type = 'sleep_duration') as sleep_duration,
    max(vitalsync.number_of(value)) filter (where type = 'sleep_efficiency') as sleep_efficiency,
    max(vitalsync.number_of(value)) filter (where type = 'sleep_regularity') as sleep_regularity,
    max(vitalsync.number_of(value)) filter (where type = 'heart_rate_resting') as heart_rate_resting,
    max(vitalsync.number_of(value)) filter (where type = 'heart_rate_variability_sdnn') as heart_rate_variability_sdnn,
    max(vitalsync.number_of(value)) filter (where type = 'heart_rate_variability_rmssd') as heart_rate_variability_rmssd,
    max(vitalsync.number_of(value)) filter (where type = 'vo2_max') as vo2_max,
    max(vitalsync.number_of(value)) filter (where type = 'weight') as weight
  from vitalsync.biomarkers r
  where r.profile_id = p.id and r.start_date_time >= c.starts_at - interval '38 hours'
    and r.start_date_time < c.starts_at + interval '36 hours' and r.periodicity = 'daily' and r.gone_at is null
    and r.local_date between c.day - 1 and c.day
    and vitalsync.lived_on(r.local_date, r.body) = c.day) b
where s.records + b.records > 0;

create or replace view warehouse.seven_day_means as
select d.external_id, d.local_date, w.days, w.wellbeing, w.activity, w.sleep, w.readiness, w.mental_wellbeing, w.steps,
  w.sleep_duration, w.heart_rate_resting, w.heart_rate_variability_rmssd
from warehouse.person_days d
cross join lateral (
  select count(*) as days, round(avg(x.wellbeing)::numeric, 4)::float8 as wellbeing, round(avg(x.activity)::numeric, 4)::float8 as activity,
    round(avg(x.sleep)::numeric, 4)::float8 as sleep, round(avg(x.readiness)::numeric, 4)::float8 as readiness,
    round(avg(x.mental_wellbeing)::numeric, 4)::float8 as mental_wellbeing, round(avg(x.steps)::numeric, 1)::float8 as steps,
    round(avg(x.sleep_duration)::numeric, 2)::float8 as sleep_duration,
    round(avg(x.heart_rate_resting)::numeric, 2)::float8 as heart_rate_resting,
    round(avg(x.heart_rate_variability_rmssd)::numeric, 2)::float8 as heart_rate_variability_rmssd
  from warehouse.person_days x
  where x.external_id = d.external_id and x.local_date between d.local_date - 6 and d.local_date) w;

create or replace view warehouse.score_drivers as
select p.external_id, r.local_date, r.type as score, r.value as score_value, r.state as score_state,
  f.factor, f.value, f.goal, f.factor_score, f.state, f.unit, f.weakest_first
from vitalsync.scores r
join vitalsync.profiles p on p.id = r.profile_id
cross join lateral (
  select x ->> 'name' as factor, vitalsync.number_of(x ->> 'value') as value, vitalsync.number_of(x ->> 'goal') as goal,
    vitalsync.number_of(x ->> 'score') as factor_score, x ->> 'state' as state, x ->> 'unit' as unit,
    rank() over (order by vitalsync.number_of(x ->> 'score') nulls last) as weakest_first
  from (select r.body::jsonb -> 'factors' as factors offset 0) b
  cross join lateral jsonb_array_elements(case when jsonb_typeof(b.factors) = 'array' then b.factors else '[]' end) as e(x)) f
where r.gone_at is null;

create or replace view warehouse.archetype_transitions as
select p.external_id, t.name, t.periodicity, t.since, t.until, t.from_value, t.to_value, t.from_ordinality, t.to_ordinality,
  case when t.from_ordinality < t.to_ordinality then 'up' when t.from_ordinality > t.to_ordinality then 'down'
    else 'sideways' end as direction
from vitalsync.profiles p
cross join lateral (
  select a.name, a.periodicity, a.start_date_time as since, a.end_date_time as until,
    lag(a.value) over w as from_value, a.value as to_value,
    lag(a.ordinality) over w as from_ordinality, a.ordinality as to_ordinality
  from vitalsync.archetypes a where a.profile_id = p.id and a.gone_at is null
  window w as (partition by a.name, a.periodicity order by a.start_date_time)) t
where t.from_value is distinct from t.to_value and t.from_value is not null;

create or replace view warehouse.streaks as
select p.external_id, t.score, t.state, t.since, t.until, t.days
from vitalsync.profiles p
cross join lateral (
  select score, state, min(local_date) as since, max(local_date) as until, count(*)::int as days
  from (
    select d.type as score, d.state, d.local_date,
      d.local_date - (row_number() over (partition by d.type, d.state order by d.local_date))::int as island
    from (select distinct type, state, local_date from vitalsync.scores
          where profile_id = p.id and gone_at is null and local_date is not null and state is not null) d) i
  group by score, state, island) t;

create or replace view warehouse.biomarkers as
select p.external_id, r.start_date_time, r.end_date_time, r.local_date, r.category, r.type, r.periodicity, r.aggregation,
  r.value, r.unit, r.value_type, d.raw ->> 'id' as id, d.raw, r.first_seen_at, r.changed_at, r.gone_at, r.revision,
  vitalsync.number_of(r.value) as value_number
from vitalsync.biomarkers r join vitalsync.profiles p on p.id = r.profile_id
cross join lateral (select r.body::jsonb as raw offset 0) d;

-- What upstream gives now: most questions are about this.
do $$
declare
  relation text;
begin
  foreach relation in array
    array['scores', 'biomarkers', 'archetypes', 'trends', 'comparisons', 'tags', 'demographics', 'device_information']
  loop
    execute format('create view warehouse.%I as select * from warehouse.%I where gone_at is null', relation || '_now', relation);
    execute format('comment on view warehouse.%I is %L', relation || '_now',
      format('The rows of %s that upstream gives now, without those that are gone.', relation));
  end loop;
end $$;

create view warehouse.archetype_days as
select p.external_id, c.day as local_date, a.name, a.periodicity, a.value, a.ordinality
from vitalsync.archetypes a
join vitalsync.profiles p on p.id = a.profile_id
join vitalsync.calendar c on c.day between a.local_date
  and a.local_date + greatest(round(extract(epoch from a.end_date_time - a.start_date_time) / 86400)::int, 1) - 1
where a.gone_at is null;
comment on view warehouse.archetype_days is 'One row per person, archetype and day for which it holds: archetypes that can be joined by date.';

create view warehouse.score_changes as
select p.external_id, r.type, r.local_date, r.score_date_time, v.value_before, v.value_after, upper(h.recorded) as changed_at,
  upper(h.recorded) - r.score_date_time as changed_after
from vitalsync.history h
join vitalsync.profiles p on p.id = h.profile_id
join vitalsync.scores r on r.profile_id = h.profile_id and r.type = h.record_key ->> 'type'
  and r.score_date_time = (h.record_key ->> 'score_date_time')::timestamptz
left join vitalsync.history n on n.profile_id = h.profile_id and n.stream = h.stream and n.record_key = h.record_key
  and n.revision = h.revision + 1
cross join lateral (
  select case when h.gone_at is null then vitalsync.number_of(coalesce(h.body::json ->> 'value', h.body::json ->> 'score')) end as value_before,
    case when n.profile_id is null then case when r.gone_at is null then r.value end
      when n.gone_at is null then vitalsync.number_of(coalesce(n.body::json ->> 'value', n.body::json ->> 'score')) end as value_after) v
where h.stream = 'scores' and v.value_before is distinct from v.value_after;
comment on view warehouse.score_changes is 'One row for each time the value of a score changed after it was first read: before, after, when, and how late.';

-- Every column of every view says what it means and in which unit.
do $$
declare
  meaning record;
  relation record;
begin
  for meaning in select * from (values
    ('%', 'external_id', 'The name by which the person is known upstream.'),
    ('%', 'stream', 'The stream.'),
    ('%', 'start_date_time', 'Start of the period of which the record speaks.'),
    ('%', 'end_date_time', 'End of the period of which the record speaks.'),
    ('%', 'id', 'Upstream''s id of the record. It may change when the record is derived anew.'),
    ('%', 'unit', 'The unit of the value, as upstream names it.'),
    ('%', 'periodicity', 'How long a period is: daily, weekly or monthly.'),
    ('%', 'version', 'The version of the model that derived it, as upstream names it.'),
    ('%', 'category', 'The group to which upstream counts it.'),
    ('%', 'is_higher_better', 'Whether a higher value is the better one.'),
    ('%', 'data', 'The details, as upstream sends them.'),
    ('%', 'raw', 'The record as upstream sent it, whole.'),
    ('%', 'local_date', 'The calendar day, in the person''s own offset.'),
    ('%', 'first_seen_at', 'When the record was first read.'),
    ('%', 'changed_at', 'When the reading that brought this version, or found it gone, was sent.'),
    ('%', 'gone_at', 'Since when upstream does not send the record any more; null while it does. Rows are never deleted for that.'),
    ('%', 'revision', '1 at first, one more with each change. Former ones are in history.'),
    ('archetypes%', 'name', 'Which archetype, such as activity_level.'),
    ('archetype%', 'value', 'The archetype that holds in the period.'),
    ('archetype%', 'ordinality', 'The rank of the value among the values of this archetype, from 0; null where they have no order.'),
    ('archetypes%', 'data_type', 'Whether the values have an order: ordinal or categorical.'),
    ('archetype_days', 'name', 'Which archetype, such as activity_level.'),
    ('archetype_transitions', 'name', 'Which archetype, such as activity_level.'),
    ('archetype_transitions', 'since', 'Start of the first period in which the new value holds.'),
    ('archetype_transitions', 'until', 'End of that period.'),
    ('archetype_transitions', 'from_value', 'The value of the period before.'),
    ('archetype_transitions', 'to_value', 'The new value.'),
    ('archetype_transitions', 'from_ordinality', 'The rank of the value before.'),
    ('archetype_transitions', 'to_ordinality', 'The rank of the new value.'),
    ('archetype_transitions', 'direction', 'up or down by the ranks; sideways where they have no order.'),
    ('biomarkers%', 'type', 'Which biomarker, such as steps.'),
    ('biomarkers%', 'aggregation', 'How the value sums up its period: total, average, minimum, maximum.'),
    ('biomarkers%', 'value', 'The value as text, as upstream sends it; in the unit of unit.'),
    ('biomarkers%', 'value_type', 'The kind of the value: integer, double, string, dateTime.'),
    ('biomarkers%', 'value_number', 'The value as a number, in the unit of unit; null where it is none.'),
    ('comparisons%', 'name', 'What is compared, such as steps.'),
    ('comparisons%', 'value', 'The person''s own value, in the unit of unit. Percentiles are in data.'),
    ('completeness', 'wanted_from', 'Start of the wanted time.'),
    ('completeness', 'missing', 'The wanted spans that are not covered.'),
    ('completeness', 'refused_windows', 'How many windows upstream refuses now.'),
    ('completeness', 'quarantined', 'How many records and items did not fit.'),
    ('coverage', 'covered', 'The spans that were read after they had settled.'),
    ('coverage', 'checkpoint', 'Up to which instant without a hole since the first wanted one; for data-logs up to which endDateTime everything was pushed.'),
    ('demographics%', 'age', 'Age in years.'),
    ('demographics%', 'gender', 'Gender, as upstream names it.'),
    ('demographics%', 'birth_date', 'Date of birth, as text.'),
    ('demographics%', 'country', 'Country of residence, two letters.'),
    ('demographics%', 'birth_country', 'Country of birth, two letters.'),
    ('demographics%', 'ethnicity', 'Ethnicity, as the person gave it.'),
    ('demographics%', 'occupation', 'Occupation, as the person gave it.'),
    ('demographics%', 'industry', 'Industry, as the person gave it.'),
    ('demographics%', 'income_range', 'Range of income, as the person gave it.'),
    ('demographics%', 'education', 'Education, as the person gave it.'),
    ('demographics%', 'relationship', 'Relationship status.'),
    ('demographics%', 'locale', 'Rural or Urban.'),
    ('demographics%', 'living_arrangement', 'Renting, HomeOwner or Homeless.'),
    ('device_information%', 'device_information_id', 'Upstream''s id of the entry.'),
    ('device_information%', 'sdk_id', 'The SDK that sent it.'),
    ('device_information%', 'sdk_version', 'The version of the SDK.'),
    ('device_information%', 'app_id', 'The app that sent it.'),
    ('device_information%', 'app_version', 'The version of the app.'),
    ('device_information%', 'device_id', 'The device''s own id.'),
    ('device_information%', 'device_type', 'The kind of device, such as watch or phone.'),
    ('device_information%', 'device_model', 'The model.'),
    ('device_information%', 'system', 'The operating system.'),
    ('device_information%', 'system_version', 'Its version.'),
    ('device_information%', 'time_zone', 'The time zone that the device reported.'),
    ('differences', 'start_at', 'Start of the window that differed.'),
    ('differences', 'end_at', 'End of the window that differed.'),
    ('differences', 'found_at', 'When the difference was found.'),
    ('differences', 'cause', 'lost-here, changed-upstream or late-upstream: the gravest cause of its records.'),
    ('differences', 'missing_here', 'How many records upstream has and the warehouse had not.'),
    ('differences', 'differing', 'How many records had another text.'),
    ('differences', 'missing_upstream', 'How many records the warehouse had and upstream has not.'),
    ('differences', 'mended_at', 'When the window was stored anew and equalled what upstream gives; null until then.'),
    ('freshness', 'last_read_at', 'When the newest stored reading was sent; null before the first.'),
    ('freshness', 'age', 'How long ago that was.'),
    ('freshness', 'covered_to', 'End of the newest covered span.'),
    ('freshness', 'pushed_to', 'The newest endDateTime that was pushed.'),
    ('freshness', 'waiting_to_be_pushed', 'How many items wait to be pushed.'),
    ('history', 'record_key', 'What names the record among those of its stream.'),
    ('history', 'recorded', 'The span in which this version was the current one here.'),
    ('person_days', 'wellbeing', 'The wellbeing score, 0 to 1.'),
    ('person_days', 'activity', 'The activity score, 0 to 1.'),
    ('person_days', 'sleep', 'The sleep score, 0 to 1.'),
    ('person_days', 'readiness', 'The readiness score, 0 to 1.'),
    ('person_days', 'mental_wellbeing', 'The mental wellbeing score, 0 to 1.'),
    ('person_days', 'steps', 'Steps of the day.'),
    ('person_days', 'active_hours', 'Hours with enough movement.'),
    ('person_days', 'active_duration', 'Minutes of activity.'),
    ('person_days', 'active_energy_burned', 'Energy of activity, in kilocalories.'),
    ('person_days', 'sleep_duration', 'Minutes asleep.'),
    ('person_days', 'sleep_efficiency', 'Share of the time in bed asleep, as upstream scales it.'),
    ('person_days', 'sleep_regularity', 'How regular the times of sleep are, as upstream scales it.'),
    ('person_days', 'heart_rate_resting', 'Resting heart rate, in beats a minute.'),
    ('person_days', 'heart_rate_variability_sdnn', 'Heart rate variability SDNN, in milliseconds.'),
    ('person_days', 'heart_rate_variability_rmssd', 'Heart rate variability RMSSD, in milliseconds.'),
    ('person_days', 'vo2_max', 'Maximal oxygen uptake, in ml per kilogram and minute.'),
    ('person_days', 'weight', 'Body weight, in kilograms.'),
    ('seven_day_means', 'wellbeing', 'Mean of the wellbeing score, 0 to 1.'),
    ('seven_day_means', 'activity', 'Mean of the activity score, 0 to 1.'),
    ('seven_day_means', 'sleep', 'Mean of the sleep score, 0 to 1.'),
    ('seven_day_means', 'readiness', 'Mean of the readiness score, 0 to 1.'),
    ('seven_day_means', 'mental_wellbeing', 'Mean of the mental wellbeing score, 0 to 1.'),
    ('seven_day_means', 'steps', 'Mean of the steps a day.'),
    ('seven_day_means', 'sleep_duration', 'Mean of the minutes asleep.'),
    ('seven_day_means', 'heart_rate_resting', 'Mean of the resting heart rate, in beats a minute.'),
    ('seven_day_means', 'heart_rate_variability_rmssd', 'Mean of the RMSSD, in milliseconds.'),
    ('quarantine', 'id', 'The id for vitalsync quarantine show and replay.'),
    ('quarantine', 'direction', 'pull: a record from upstream; push: an item that upstream refused.'),
    ('quarantine', 'path', 'Where within the record the fault is.'),
    ('quarantine', 'reason', 'What is wrong with it.'),
    ('quarantine', 'body', 'The exact text.'),
    ('quarantine', 'times', 'How often it came.'),
    ('quarantine', 'last_seen_at', 'When it came last.'),
    ('runs', 'id', 'The number of the run.'),
    ('runs', 'kind', 'nightly, sweep, sync or backfill.'),
    ('runs', 'state', 'running, done, failed or stopped.'),
    ('runs', 'started_at', 'When it started.'),
    ('runs', 'ended_at', 'When it ended; null while it runs.'),
    ('runs', 'enqueued', 'Profiles that were due in it.'),
    ('runs', 'done', 'Profiles that were finished.'),
    ('runs', 'failed', 'Profiles whose job failed.'),
    ('runs', 'refused', 'Windows and items that upstream refused.'),
    ('runs', 'requests', 'Requests to upstream.'),
    ('runs', 'rows_read', 'Records that were read.'),
    ('runs', 'rows_written', 'Records that were new or had changed.'),
    ('runs', 'items_pushed', 'Items that were pushed.'),
    ('runs', 'items_pushed_elsewhere', 'Items that jobs of other runs pushed for profiles of this run meanwhile.'),
    ('runs', 'unchanged', 'Readings that upstream answered with: not changed since.'),
    ('score_drivers', 'score', 'Which score, such as sleep.'),
    ('score_drivers', 'score_value', 'The score, 0 to 1.'),
    ('score_drivers', 'score_state', 'The state of the score, such as low.'),
    ('score_drivers', 'factor', 'Which factor.'),
    ('score_drivers', 'value', 'The person''s value of the factor, in the unit of unit.'),
    ('score_drivers', 'goal', 'The goal of the factor, in the unit of unit.'),
    ('score_drivers', 'factor_score', 'The score of the factor alone, 0 to 1.'),
    ('score_drivers', 'state', 'The state of the factor.'),
    ('score_changes', 'type', 'Which score, such as sleep.'),
    ('score_changes', 'score_date_time', 'The instant of the score.'),
    ('score_changes', 'value_before', 'The score before, 0 to 1; null while upstream did not give it.'),
    ('score_changes', 'value_after', 'The score after, 0 to 1; null where upstream does not give it any more.'),
    ('score_changes', 'changed_at', 'When the reading that found the change was sent.'),
    ('score_changes', 'changed_after', 'How long after the instant of the score that was.'),
    ('scores%', 'score_date_time', 'The instant of the score: the start of its day.'),
    ('scores%', 'type', 'Which score, such as sleep.'),
    ('scores%', 'value', 'The score, 0 to 1.'),
    ('scores%', 'state', 'The state of the score, such as low.'),
    ('scores%', 'created_at', 'When upstream derived it.'),
    ('scores%', 'factors', 'What the score is made of; one row each in score_drivers.'),
    ('scores%', 'data_sources', 'The sources whose logs it rests on.'),
    ('streaks', 'score', 'Which score, such as sleep.'),
    ('streaks', 'state', 'The state that the score had on each day of the streak.'),
    ('streaks', 'since', 'The first day.'),
    ('streaks', 'until', 'The last day.'),
    ('streaks', 'days', 'How many days.'),
    ('tags%', 'type', 'event: happened at an instant or over a span; state: holds until it ends.'),
    ('tags%', 'name', 'The name of the tag.'),
    ('tags%', 'value', 'The value, as text.'),
    ('tags%', 'source', 'Who set it.'),
    ('tags%', 'additional_properties', 'What else was sent with it.'),
    ('trends%', 'trend_start_date_time', 'Start of the span that the trend looks at.'),
    ('trends%', 'trend_end_date_time', 'End of the span that the trend looks at.'),
    ('trends%', 'name', 'What the trend is of, such as steps.'),
    ('trends%', 'state', 'increasing, decreasing or stable, as upstream names it.'),
    ('trends%', 'value_range', 'The lowest and the highest value, in the unit of unit.'),
    ('verified', 'windows', 'Covered windows that chance drew and that were read again.'),
    ('verified', 'differing', 'How many of them differed.'),
    ('verified', 'rate', 'Their share, 0 to 1.'),
    ('verified', 'rate_from', 'Lower bound of its 95 % interval.'),
    ('verified', 'rate_up_to', 'Upper bound of its 95 % interval.')
  ) as m(relations, name, text)
  loop
    for relation in
      select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid
      where c.relnamespace = 'warehouse'::regnamespace and c.relname like meaning.relations and a.attname = meaning.name
        and a.attnum > 0 and not a.attisdropped and col_description(c.oid, a.attnum) is null
    loop
      execute format('comment on column warehouse.%I.%I is %L', relation.relname, meaning.name, meaning.text);
    end loop;
  end loop;
end $$;
