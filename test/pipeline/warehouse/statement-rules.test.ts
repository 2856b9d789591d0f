import { expect, test } from 'vitest'
import { brokenRules } from '../../support/statement-rules.ts'

/** Each was a statement of ours, or is one with a slip that is easily made. */
const refused = {
  'a lock without the profiles': `select l.stream from vitalsync.ledger l join unnest($1::int8[]) i(profile_id)
    on l.profile_id = i.profile_id for update of l`,
  'an update by a join alone': `update vitalsync.ledger l set tagged = true from unnest($1::int8[]) i(profile_id)
    where l.profile_id = i.profile_id`,
  'a second table without the profiles': `update vitalsync.profiles p set due_at = (select min(f.next_try_at)
    from vitalsync.refusals f where f.profile_id = p.id) where p.id = any($1)`,
  'a volatile function': 'update vitalsync.profiles set due_at = clock_timestamp() where id = any($1)',
  'a cast of a column by the time zone': `update vitalsync.refusals r set next_try_at = $3
    from unnest($1::int8[], $2::text[]) i(profile_id, span)
    where r.profile_id = i.profile_id and r.profile_id = any($1) and r.span = i.span::tstzrange`,
  'an insert in a part': `with kept as (insert into vitalsync.history (profile_id) select t.profile_id
    from vitalsync.scores t where t.profile_id = any($1)) select 1`,
  'JSON of an instant in the row of a conflict': `insert into vitalsync.empty_days as e (profile_id, cause)
    select * from unnest($1::int8[], $2::text[]) on conflict (profile_id) do update set cause = excluded.cause,
      former = e.former || jsonb_build_object('since', e.computed_at)`,
  'an insert beside an update': `with noted as (select 1) insert into vitalsync.items (profile_id)
    select profile_id from vitalsync.items where profile_id = $1; update vitalsync.items set place = 0 where profile_id = $1`,
  'a delete by another table': `delete from vitalsync.refusals f using unnest($1::int8[]) i(profile_id)
    where f.profile_id = i.profile_id`,
}

const allowed = {
  'an update that names them': `update vitalsync.ledger l set tagged = true from unnest($1::int8[]) i(profile_id)
    where l.profile_id = i.profile_id and l.profile_id = any($1)`,
  'a change of one profile': 'update vitalsync.profiles set due_at = statement_timestamp() where id = $1',
  'a delete of old rows everywhere': 'delete from vitalsync.differences where found_at < $1',
  'a report': 'select count(*) from vitalsync.ledger l join vitalsync.profiles p on p.id = l.profile_id',
  'an insert alone': 'insert into vitalsync.refusals (profile_id, stream) select * from unnest($1::int8[], $2::text[])',
  'tables of nobody':
    'update vitalsync.runs r set touched_at = clock_timestamp() from vitalsync.orders o where o.run_id = r.id',
}

for (const [name, statement] of Object.entries(refused))
  test(`a statement with ${name} breaks a rule`, () => expect(brokenRules(statement)).not.toEqual([]))

for (const [name, statement] of Object.entries(allowed))
  test(`${name} is left alone`, () => expect(brokenRules(statement)).toEqual([]))
