-- Ready-made views for analysts, and what the columns of the public views mean. Stable like all of schema `warehouse`.

-- For data-logs: up to the oldest item that still waits, and no further.
create or replace view warehouse.coverage as
select p.external_id, l.stream, l.covered,
  coalesce(
    (select upper(r) from unnest(l.covered) r where r @> p.wanted_from),
    least(l.pushed_to, (select min(o.end_at) from vitalsync.outbox o
      where o.profile_id = l.profile_id and o.stream = l.stream and o.state = 'waiting'))) as checkpoint
from vitalsync.ledger l join vitalsync.profiles p on p.id = l.profile_id;
comment on column vitalsync.ledger.pushed_to is 'The newest endDateTime that was pushed. What still waits before it holds the checkpoint of warehouse.coverage back.';

-- Text that is a number, as biomarkers have it; null for anything else.
create function vitalsync.number_of(value text) returns double precision language sql immutable parallel safe
return case when value ~ '^\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?\s*$' and length(value) < 40 then value::double precision end;

-- The day to which people count a period: one that starts in the afternoon, as sleep days do, belongs to the next.
create function vitalsync.day_lived(local_date date, start_text text) returns date language sql immutable parallel safe
return local_date + case when substr(start_text, 12, 2) between '12' and '23' then 1 else 0 end;

create view warehouse.person_days as
with days as (
  select profile_id, local_date from vitalsync.scores where gone_at is null and local_date is not null
  union
  select profile_id, vitalsync.day_lived(local_date, raw ->> 'startDateTime') from vitalsync.biomarkers
  where gone_at is null and periodicity = 'daily' and local_date is not null
), scores as (
  select profile_id, local_date,
    max(value) filter (where type = 'wellbeing') as wellbeing,
    max(value) filter (where type = 'activity') as activity,
    max(value) filter (where type = 'sleep') as sleep,
    max(value) filter (where type = 'readiness') as readiness,
    max(value) filter (where type = 'mental_wellbeing') as mental_wellbeing
  from vitalsync.scores where gone_at is null group by 1, 2
), biomarkers as (
  select profile_id, vitalsync.day_lived(local_date, raw ->> 'startDateTime') as local_date,
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
  from vitalsync.biomarkers
  where gone_at is null and periodicity = 'daily' and local_date is not null group by 1, 2
)
select p.external_id, d.local_date,
  s.wellbeing, s.activity, s.sleep, s.readiness, s.mental_wellbeing,
  b.steps, b.active_hours, b.active_duration, b.active_energy_burned, b.sleep_duration, b.sleep_efficiency,
  b.sleep_regularity, b.heart_rate_resting, b.heart_rate_variability_sdnn, b.heart_rate_variability_rmssd, b.vo2_max, b.weight
from days d join vitalsync.profiles p on p.id = d.profile_id
left join scores s on s.profile_id = d.profile_id and s.local_date = d.local_date
left join biomarkers b on b.profile_id = d.profile_id and b.local_date = d.local_date;
comment on view warehouse.person_days is 'One row per person and calendar day in the person''s own offset: the five scores and the most used daily biomarkers side by side. A sleep belongs to the day it ends on. Null: nothing there.';

create view warehouse.seven_day_means as
select external_id, local_date, count(*) over w as days,
  avg(wellbeing) over w as wellbeing, avg(activity) over w as activity, avg(sleep) over w as sleep,
  avg(readiness) over w as readiness, avg(mental_wellbeing) over w as mental_wellbeing, avg(steps) over w as steps,
  avg(sleep_duration) over w as sleep_duration, avg(heart_rate_resting) over w as heart_rate_resting,
  avg(heart_rate_variability_rmssd) over w as heart_rate_variability_rmssd
from warehouse.person_days
window w as (partition by external_id order by local_date range between interval '6 days' preceding and current row);
comment on view warehouse.seven_day_means is 'Per person and day, the mean over that day and the six calendar days before it, of the days that have a value.';
comment on column warehouse.seven_day_means.days is 'How many of the seven days have a row in person_days.';

create view warehouse.score_drivers as
select p.external_id, r.local_date, r.type as score, r.value as score_value, r.state as score_state,
  f.factor ->> 'name' as factor, vitalsync.number_of(f.factor ->> 'value') as value,
  vitalsync.number_of(f.factor ->> 'goal') as goal, vitalsync.number_of(f.factor ->> 'score') as factor_score,
  f.factor ->> 'state' as state, f.factor ->> 'unit' as unit,
  rank() over (partition by r.profile_id, r.score_date_time, r.type
    order by vitalsync.number_of(f.factor ->> 'score') nulls last) as weakest_first
from vitalsync.scores r
join vitalsync.profiles p on p.id = r.profile_id
cross join lateral jsonb_array_elements(case when jsonb_typeof(r.raw -> 'factors') = 'array' then r.raw -> 'factors' else '[]' end) as f(factor)
where r.gone_at is null;
comment on view warehouse.score_drivers is 'One row per score and factor: what holds a score up or keeps it down.';
comment on column warehouse.score_drivers.weakest_first is '1 is the factor with the lowest score of its own.';

create view warehouse.archetype_transitions as
select external_id, name, periodicity, since, until, from_value, to_value, from_ordinality, to_ordinality,
  case when from_ordinality < to_ordinality then 'up' when from_ordinality > to_ordinality then 'down' else 'sideways' end as direction
from (
  select p.external_id, a.name, a.periodicity, a.start_date_time as since, a.end_date_time as until,
    lag(a.value) over w as from_value, a.value as to_value,
    lag(a.ordinality) over w as from_ordinality, a.ordinality as to_ordinality
  from vitalsync.archetypes a join vitalsync.profiles p on p.id = a.profile_id where a.gone_at is null
  window w as (partition by a.profile_id, a.name, a.periodicity order by a.start_date_time)
) t where from_value is distinct from to_value and from_value is not null;
comment on view warehouse.archetype_transitions is 'Each time an archetype became another from one period to the next.';

create view warehouse.streaks as
select external_id, score, state, min(local_date) as since, max(local_date) as until, count(*)::int as days
from (
  select p.external_id, d.type as score, d.state, d.local_date,
    d.local_date - (row_number() over (partition by d.profile_id, d.type, d.state order by d.local_date))::int as island
  from (select distinct profile_id, type, state, local_date from vitalsync.scores
        where gone_at is null and local_date is not null and state is not null) d
  join vitalsync.profiles p on p.id = d.profile_id
) t group by external_id, score, state, island;
comment on view warehouse.streaks is 'Unbroken runs of days on which a score was in the same state.';

create view warehouse.completeness as
select p.external_id, l.stream, p.wanted_from,
  extract(epoch from (select sum(upper(r) - lower(r)) from unnest(l.covered * tstzmultirange(tstzrange(p.wanted_from, now()))) r))
    / extract(epoch from nullif(now() - p.wanted_from, '0')) as share_covered,
  tstzmultirange(tstzrange(p.wanted_from, now())) - l.covered as missing,
  (select count(*)::int from vitalsync.refusals f where f.profile_id = l.profile_id and f.stream = l.stream) as refused_windows,
  (select count(*)::int from vitalsync.quarantine q where q.profile_id = l.profile_id and q.stream = l.stream) as quarantined
from vitalsync.ledger l join vitalsync.profiles p on p.id = l.profile_id
where l.stream <> 'data-logs' and p.wanted_from < now();
comment on view warehouse.completeness is 'Per person and stream, how much of the wanted time was read and had settled, and what is missing. The newest days are always missing until they settle.';
comment on column warehouse.completeness.share_covered is '0 to 1; null when nothing is covered yet.';

create view warehouse.freshness as
select p.external_id, l.stream, l.read_at as last_read_at, now() - l.read_at as age,
  (select max(upper(r)) from unnest(l.covered) r) as covered_to, l.pushed_to,
  (select count(*)::int from vitalsync.outbox o
    where o.profile_id = l.profile_id and o.stream = l.stream and o.state = 'waiting') as waiting_to_be_pushed
from vitalsync.ledger l join vitalsync.profiles p on p.id = l.profile_id;
comment on view warehouse.freshness is 'Per person and stream, when it was last read, how far it is covered, and what waits to be pushed.';

comment on view warehouse.scores is 'One row per person, score and day. Values as upstream sent them, never rescaled.';
comment on view warehouse.biomarkers is 'One row per person, biomarker and period. value is text, as upstream sends it.';
comment on view warehouse.archetypes is 'One row per person, archetype and week or month.';
comment on view warehouse.trends is 'One row per person, trend and span of four weeks.';
comment on view warehouse.comparisons is 'One row per person, comparison and day.';
comment on view warehouse.tags is 'One row per person and tag: events, and states that are open until they have an end.';
comment on view warehouse.demographics is 'Who the person is, as upstream last said.';
comment on view warehouse.device_information is 'The person''s device, as upstream last said.';
comment on view warehouse.history is 'Former selves of records that changed or went: what we believed, and when.';
comment on view warehouse.runs is 'One cron slot, or one command, with what it did.';
comment on view warehouse.quarantine is 'Records and items that did not fit, whole, with the reason.';

-- The bookkeeping columns are the same in every table and view of records.
do $$
declare
  meaning record;
  relation record;
begin
  for meaning in select * from (values
    ('profile_id', 'Our own id of the person; see vitalsync.profiles.'),
    ('external_id', 'The name by which the person is known upstream.'),
    ('local_date', 'The calendar day on which the record starts, in the offset it carries itself.'),
    ('raw', 'The record as upstream sent it, whole.'),
    ('digest', 'Of the record''s exact text: equal means that nothing changed, and nothing is written.'),
    ('read_at', 'When the request that brought this version was sent. An older reading never replaces a newer one.'),
    ('first_seen_at', 'When the record was first read.'),
    ('changed_at', 'When the reading that brought this version, or found it gone, was sent.'),
    ('gone_at', 'Since when upstream does not send the record any more; null while it does. Rows are never deleted for that.'),
    ('revision', '1 at first, one more with each change. Former ones are in history.')
  ) as m(name, text)
  loop
    for relation in
      select c.table_schema, c.table_name, c.column_name from information_schema.columns c
      where c.column_name = meaning.name and (
        c.table_schema = 'vitalsync' and c.table_name in
          ('scores', 'biomarkers', 'archetypes', 'trends', 'comparisons', 'tags', 'demographics', 'device_information')
        or c.table_schema = 'warehouse')
    loop
      execute format('comment on column %I.%I.%I is %L', relation.table_schema, relation.table_name, relation.column_name, meaning.text);
    end loop;
  end loop;
end $$;
