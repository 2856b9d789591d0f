import type { TestPipeline } from './test-pipeline.ts'

/**
 * Makes one Postgres answer as the coordinator of a warehouse whose node is away: statements that meet a person of one shard fail with the
 * coordinator's own error, until `find`. The behaviour of Citus itself is tested on a real cluster: `npm run citus`.
 */
export async function loseNode(
  { rows, pipeline: { pool } }: Pick<TestPipeline, 'rows' | 'pipeline'>,
  isLost: (profileId: string) => boolean,
): Promise<{ find(): Promise<unknown>; tries(): Promise<number> }> {
  const all = (await pool.query<{ id: string }>('select id from vitalsync.profiles')).rows.map(({ id }) => id)
  await rows('create table lost_people as select unnest($1::int8[]) as id', [all.filter(isLost)])
  await rows('create sequence lost_tries')
  await rows(`create function meet(person int8) returns boolean language plpgsql volatile as $$ begin
      if exists (select from lost_people where id = person) then
        perform nextval('lost_tries');
        raise exception using errcode = '08006',
          message = 'connection to the remote node vitalsync@127.0.0.1:9702 failed with the following error: Connection refused';
      end if;
      return true;
    end $$`)
  await rows('alter table vitalsync.profiles rename to reached_profiles')
  await rows('create view vitalsync.profiles as select * from vitalsync.reached_profiles where meet(id)')
  return {
    find: () => rows('delete from lost_people'),
    tries: async () =>
      Number((await rows('select case when is_called then last_value else 0 end as n from lost_tries'))[0]?.['n']),
  }
}
