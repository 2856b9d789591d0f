-- On a warehouse that is divided among several nodes a view that all nodes know, such as warehouse.days, can only ask tables that
-- they know too. So a new table of profiles is divided in the migration that makes it, before a view asks it.

-- Lays an empty table of profiles beside the others, where they are divided. Nothing to do on one Postgres.
create function vitalsync.divide(laid regclass) returns void language plpgsql as $$
declare
  is_laid boolean;
begin
  if to_regclass('pg_dist_partition') is null then return; end if;
  execute 'select not exists (select from pg_dist_partition where logicalrelid = ''vitalsync.profiles''::regclass)
    or exists (select from pg_dist_partition where logicalrelid = $1)' into is_laid using laid;
  if not is_laid then
    execute 'select create_distributed_table($1, ''profile_id'', colocate_with => ''vitalsync.profiles'')' using laid;
  end if;
end $$;

-- As before, but that the tables of the streams are divided first.
alter function vitalsync.define_days() rename to define_view_days;
create function vitalsync.define_days() returns void language plpgsql as $$
declare
  laid text;
begin
  foreach laid in array (select array_agg(format('vitalsync.%I', table_name)) from vitalsync.day_streams) loop
    perform vitalsync.divide(laid::regclass);
  end loop;
  perform vitalsync.define_view_days();
end $$;
