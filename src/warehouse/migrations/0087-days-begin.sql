-- As before, but that found_by and settle_ms are looked at, and that it begins at the first day that anybody wants. Without that
-- bound Postgres took the calendar for the smaller side, where the view was joined with something else, and looked up every
-- person for each day since 1970.
create or replace function vitalsync.define_days() returns void language plpgsql as $define$
declare
  branches text;
begin
  select string_agg(format('select r.gone_at from vitalsync.%I r where l.stream = %L and r.profile_id = l.profile_id', s.table_name, s.stream)
    || coalesce(' and ' || condition, ''), E'\n    union all ' order by s.stream, n)
  into branches
  from vitalsync.day_streams s
  left join lateral unnest(coalesce(s.found_by, case when s.start_column is not null then array[
    format('r.%1$I >= c.starts_at - interval %2$L and r.%1$I < c.starts_at + interval ''36 hours'' and ', s.start_column, s.longest + interval '14 hours')
    || case when s.end_column is null then format('%s = c.day', s.first_day)
      else format('c.day between %1$s and %1$s + greatest(floor(date_part(''epoch'', r.%2$I - r.%3$I) / 86400 + 0.5)::int, 1) - 1',
        s.first_day, s.end_column, s.start_column) end] end))
    with ordinality as o(condition, n) on true;
  execute format($view$
create or replace view warehouse.days as
select p.external_id, l.stream, c.day as local_date, d.state,
  case d.state
    when 'data' then concat_ws('; ', case when not d.settled then 'it may still change' end, f.reason, q.reason)
    when 'empty' then 'it was read, and upstream has nothing for this day'
    when 'quarantined' then q.reason
    when 'refused' then f.reason
    when 'erased_upstream' then case when r.gone > 0 then format('%%s records are gone upstream since %%s UTC', r.gone, to_char(r.gone_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI'))
      else 'upstream does not know the person any more' end
    when 'unsettled' then case when d.waits then 'something was pushed for it, and it is read again until upstream has derived'
      else 'it was read, and is read again until late data can no longer change it' end
    else 'no reading has asked for it yet; the next sync does' end as reason,
  r.present as rows, d.settled, l.read_at
from vitalsync.profiles p
join vitalsync.calendar c on c.day >= (p.wanted_from at time zone 'UTC')::date and c.day <= (now() at time zone 'UTC')::date + 1
  and c.day >= (select (min(wanted_from) at time zone 'UTC')::date from vitalsync.profiles)
join vitalsync.ledger l on l.profile_id = p.id
join (select stream, coalesce((select max(t.settle_ms) from vitalsync.settle_times t where t.stream = n.stream), n.settle_ms) as settle_ms
  from vitalsync.day_streams n) s on s.stream = l.stream
cross join lateral (
  select count(*) filter (where m.gone_at is null)::int as present, count(m.gone_at)::int as gone, max(m.gone_at) as gone_at
  from (%s) m) r
cross join lateral (
  select case when count(*) > 0 then format('upstream refuses it%%s: %%s', case when max(x.next_try_at) = 'infinity' then '' else
      format(', and is asked again at %%s UTC', to_char(max(x.next_try_at) at time zone 'UTC', 'YYYY-MM-DD HH24:MI')) end, max(x.reason)) end as reason
  from vitalsync.refusals x where x.profile_id = l.profile_id and x.stream = l.stream and x.span && c.span) f
cross join lateral (
  select case when count(*) > 0 then format('%%s of its records did not fit: %%s', count(*), max(x.reason)) end as reason
  from vitalsync.quarantine x where x.profile_id = l.profile_id and x.stream = l.stream and x.direction = 'pull'
    and (x.local_date = c.day or x.local_date is null and x.span && c.span)) q
cross join lateral (
  select l.covered @> tstzrange(greatest(lower(c.span), p.wanted_from),
      greatest(upper(c.span) + case when r.present > 0 then interval '12 hours' else '0' end, p.wanted_from)) as settled,
    l.digesting && c.span or exists (select from jsonb_array_elements(l.rereads) e
      where tstzrange(to_timestamp((e ->> 0)::float8 / 1000), to_timestamp((e ->> 1)::float8 / 1000)) && c.span) as waits) w
cross join lateral (
  select w.settled, w.waits, case
    when r.present > 0 then 'data'
    when q.reason is not null then 'quarantined'
    when f.reason is not null then 'refused'
    when r.gone > 0 or p.state = 'gone' then 'erased_upstream'
    when w.settled then 'empty'
    when w.waits then 'unsettled'
    when upper(c.span) > l.read_at - interval '1 hour' - interval '1 millisecond' * s.settle_ms
      and lower(c.span) <= l.read_at then 'unsettled'
    else 'never_read' end as state) d
where r.present > 0 or c.day <= (now() at time zone 'UTC')::date
$view$, branches);
end $define$;
select vitalsync.define_days();
