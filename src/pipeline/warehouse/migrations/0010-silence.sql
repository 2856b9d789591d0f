-- Who has gone silent: the habit of each person, computed from vitalsync.log_days, and each change of state.

alter table vitalsync.profiles add column uploaded boolean not null default true;
comment on column vitalsync.profiles.uploaded is 'Logs were handed in since the habit of the person was computed.';

create table vitalsync.silence (
  profile_id    bigint not null,
  subject       text collate "C" not null,
  last_at       timestamptz not null,
  last_day      date,
  device        text collate "C",
  intervals     smallint[] not null default '{}',
  usual_hours   integer,
  long_hours    integer,
  silent_from   timestamptz,
  state         text collate "C",
  primary key (profile_id, subject)
) with (fillfactor = 80);
create index silence_by_state on vitalsync.silence (state) where state is not null;
create index silence_to_come on vitalsync.silence (silent_from) where subject = 'all';
comment on table  vitalsync.silence is 'Per person and kind of log: the last upload, the habit, and whether the present silence is unusual. Computed from vitalsync.log_days; subject upstream from vitalsync.ledger.';
comment on column vitalsync.silence.subject is 'all: all kinds of logs together; a kind of log; upstream.';
comment on column vitalsync.silence.intervals is 'Hours between the uploads of 90 days, the shortest first.';
comment on column vitalsync.silence.silent_from is 'When the silence after the last upload begins to be unusual.';
comment on column vitalsync.silence.state is 'As src/pipeline/ledger/silence.ts names the kinds of silence; null where nothing is unusual.';

create table vitalsync.silence_events (
  profile_id    bigint not null,
  subject       text collate "C" not null,
  at            timestamptz not null,
  from_state    text collate "C",
  to_state      text collate "C",
  primary key (profile_id, subject, at)
);
create index silence_events_by_time on vitalsync.silence_events (at);
comment on table vitalsync.silence_events is 'Each time a person became silent, or was heard of again. Kept for 400 days.';

select vitalsync.divide('vitalsync.silence'), vitalsync.divide('vitalsync.silence_events');

-- The share of the intervals, which are sorted, that are shorter than a silence. Null without a habit. Most silences of interest are longer
-- than each, which costs no count.
create function vitalsync.unusual_share(intervals smallint[], long_hours integer, silent_hours double precision)
returns double precision language sql immutable parallel safe as $$
  select case when long_hours is null then null when intervals[cardinality(intervals)] < silent_hours then 1
    else (select count(*) filter (where i < silent_hours)::float8 / count(*) from unnest(intervals) i) end
$$;

create view warehouse.silence as
select p.external_id, s.subject as kind, s.state, s.last_at, s.last_day, s.device,
  case when s.subject in ('all', 'upstream') then now() else a.last_at end - s.last_at as silent_for,
  s.usual_hours * interval '1 hour' as usual_interval, s.long_hours * interval '1 hour' as long_interval, s.silent_from,
  vitalsync.unusual_share(s.intervals, s.long_hours, date_part('epoch', case when s.subject = 'all' then now() else a.last_at end - s.last_at) / 3600) as unusual
from vitalsync.silence s join vitalsync.profiles p on p.id = s.profile_id and p.state <> 'gone'
left join vitalsync.silence a on a.profile_id = s.profile_id and a.subject = 'all';
comment on view   warehouse.silence is 'Per person and kind of log: when something was handed in last, how usual the silence since then is for this person, and whether the person has gone silent. docs/reference/silence.md has the rules.';
comment on column warehouse.silence.external_id is 'The name by which the person is known upstream.';
comment on column warehouse.silence.kind is 'all: all kinds of logs together; a kind of log; upstream: the answers of upstream.';
comment on column warehouse.silence.state is 'all_stopped, kind_stopped, later_and_later or upstream_stopped; null where nothing is unusual. Judged once an hour.';
comment on column warehouse.silence.last_at is 'When something was handed in last, of people who are not silent by up to a day behind; of upstream, when it was read last.';
comment on column warehouse.silence.last_day is 'The newest local day with logs.';
comment on column warehouse.silence.device is 'The kind of device of the last log.';
comment on column warehouse.silence.silent_for is 'How long since then: until now, and of a kind of log until the last upload of any kind.';
comment on column warehouse.silence.usual_interval is 'The median time between uploads; null without a habit.';
comment on column warehouse.silence.long_interval is 'The longest usual time between uploads: the 95 % quantile, or one that occurred three times.';
comment on column warehouse.silence.silent_from is 'When the silence begins, or began, to be unusual.';
comment on column warehouse.silence.unusual is 'Share of the person''s own past intervals that were shorter than this silence, 0 to 1; null without a habit.';

create view warehouse.silence_events as
select p.external_id, e.subject as kind, e.at, e.from_state, e.to_state
from vitalsync.silence_events e join vitalsync.profiles p on p.id = e.profile_id;
comment on view   warehouse.silence_events is 'Each time a person became silent, and was heard of again: for the sender of reminders.';
comment on column warehouse.silence_events.external_id is 'The name by which the person is known upstream.';
comment on column warehouse.silence_events.kind is 'What is silent, as in warehouse.silence.';
comment on column warehouse.silence_events.at is 'When the change was noticed.';
comment on column warehouse.silence_events.from_state is 'The state before; null where nothing was unusual.';
comment on column warehouse.silence_events.to_state is 'The state after; null where nothing is unusual any more.';

create view warehouse.silence_groups as
select g.grouped_by, g.name, count(*)::int as people,
  count(*) filter (where a.state = 'all_stopped')::int as silent,
  min(a.last_at) filter (where a.state = 'all_stopped') as since
from vitalsync.silence a
join vitalsync.profiles p on p.id = a.profile_id and p.state <> 'gone'
left join vitalsync.device_information d on d.profile_id = a.profile_id and d.gone_at is null
cross join lateral (values ('device', a.device), ('model', d.device_model), ('app', d.body::jsonb ->> 'appVersion'),
  ('day', case when a.state = 'all_stopped' then (a.last_at at time zone 'UTC')::date::text end)) as g(grouped_by, name)
where a.subject = 'all' and g.name is not null
group by g.grouped_by, g.name;
comment on view   warehouse.silence_groups is 'Silent people by device, model, app version, and by the day of the last upload: whether a fleet of devices has stopped together.';
comment on column warehouse.silence_groups.grouped_by is 'device: the kind of device of the last log; model and app: as device-information has them; day: the day of the last upload, of silent people.';
comment on column warehouse.silence_groups.name is 'The device, model, version or day.';
comment on column warehouse.silence_groups.people is 'People of the group whose logs pass through us.';
comment on column warehouse.silence_groups.silent is 'People of the group who have stopped sending.';
comment on column warehouse.silence_groups.since is 'The oldest last upload among them.';
