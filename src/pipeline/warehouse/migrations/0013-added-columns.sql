-- Columns that users add to the tables of streams. A trigger on the table fills the column of each record that is written from then on; the
-- program fills the records before it in portions.

create table vitalsync.added_columns (
  id            bigint generated always as identity primary key,
  stream        text collate "C" not null,
  name          text collate "C" not null,
  path          text not null,
  type          text not null,
  added_at      timestamptz not null default clock_timestamp(),
  filled_rows   bigint not null default 0,
  filled_to     text[],
  filled_at     timestamptz,
  unique (stream, name)
);
comment on table  vitalsync.added_columns is 'The columns that users added, and how far each is filled. In the table of the stream the name begins with added_, so that no column of a later version has it.';
comment on column vitalsync.added_columns.path is 'Where in the record the value is, such as $.factors[0].value.';
comment on column vitalsync.added_columns.filled_rows is 'How many stored records the fill has looked at.';
comment on column vitalsync.added_columns.filled_to is 'The key of the last of these records. Written in the commit of their values.';
comment on column vitalsync.added_columns.filled_at is 'When the last stored record was looked at; null while the fill is under way.';

-- A record whose nesting Postgres reads at the top of a statement may be too deep for it within a trigger.
create function vitalsync.parsed(body text) returns jsonb language plpgsql stable as $$
begin
  return body::jsonb;
exception when data_exception or program_limit_exceeded then
  return null;
end $$;
comment on function vitalsync.parsed is 'The text of a record as jsonb; null where it is nested too deeply.';

-- A value of a record as the text of a type; null where the value is absent or does not fit. Never fails, so that no value stops a writer.
-- A text that is a number fits a number, as it does in the columns of streams. A fraction does not fit an integer, and an instant needs an offset.
create function vitalsync.fitting(value jsonb, type text) returns text language plpgsql stable as $$
declare
  kind constant text := jsonb_typeof(value);
  plain constant text := value #>> '{}';
begin
  if kind is null or kind = 'null' then return null; end if;
  if type = 'jsonb' then return value::text; end if;
  if kind in ('object', 'array') then return null; end if;
  if type = 'text' then return plain; end if;
  if type = 'boolean' then return case when kind = 'boolean' then plain end; end if;
  if type = 'date' then return case when plain ~ '^\d{4}-\d\d-\d\d$' then plain::date::text end; end if;
  if type = 'timestamptz' then
    return case when plain ~ '^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[-+]\d\d(:?\d\d)?)$' then plain::timestamptz::text end;
  end if;
  if length(plain) > 400 or plain !~ '^\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?\s*$' then return null; end if;
  if type = 'real' then return plain::real::text; end if;
  if type = 'double precision' then return plain::double precision::text; end if;
  if plain::numeric <> trunc(plain::numeric) then return null; end if;
  return case type when 'integer' then trunc(plain::numeric)::integer::text else trunc(plain::numeric)::bigint::text end;
exception when data_exception then
  return null;
end $$;
comment on function vitalsync.fitting is 'A value of a record as the text of a type; null where it is absent or does not fit.';
