import { sqlState } from '../../base/postgres/postgres-errors.ts'
import type { Tx } from './postgres/warehouse-pool.ts'

const INVALID_TABLE_DEFINITION = '42P16'

/** Gives a view another definition, and keeps what operators granted on it. */
export async function replaceView(tx: Tx, view: string, definition: string): Promise<void> {
  await tx.query('savepoint view')
  try {
    await tx.query(`create or replace view ${view} as ${definition}`)
  } catch (error) {
    if (sqlState(error) !== INVALID_TABLE_DEFINITION) throw error
    await tx.query('rollback to savepoint view') // a view that is replaced can gain columns at its end alone
    const grants = await readGrants(tx, view)
    await tx.query(`drop view ${view}`)
    await tx.query(`create view ${view} as ${definition}`)
    await restoreGrants(tx, view, grants)
  }
}

type Grant = { column: string | null; privilege: string; grantee: string; option: string }

/** The rights of roles beside the owner, on a view and on single columns of it. */
async function readGrants(tx: Tx, view: string): Promise<Grant[]> {
  const { rows } = await tx.query<Grant>(
    `select a.name as column, g.privilege_type || coalesce(' (' || quote_ident(a.name) || ')', '') as privilege,
       coalesce(quote_ident(r.rolname), 'public') as grantee, case when g.is_grantable then ' with grant option' else '' end as option
     from pg_class c,
       lateral (select null::name, c.relacl union all
         select attname, attacl from pg_attribute where attrelid = c.oid and not attisdropped) a (name, acl),
       aclexplode(a.acl) g left join pg_roles r on r.oid = g.grantee
     where c.oid = $1::regclass and g.grantee <> c.relowner`,
    [view],
  )
  return rows
}

/** Takes away what the default privileges gave, since an operator may have revoked it from the view before. */
async function restoreGrants(tx: Tx, view: string, grants: readonly Grant[]): Promise<void> {
  const { rows } = await tx.query<{ attname: string }>(
    'select attname from pg_attribute where attrelid = $1::regclass',
    [view],
  )
  for (const { privilege, grantee } of await readGrants(tx, view))
    await tx.query(`revoke ${privilege} on ${view} from ${grantee}`)
  for (const { column, privilege, grantee, option } of grants)
    if (column === null || rows.some(({ attname }) => attname === column))
      await tx.query(`grant ${privilege} on ${view} to ${grantee}${option}`)
}
