import { escapeLiteral } from 'pg'
import { sqlState } from '../../base/postgres/postgres-errors.ts'
import type { Tx } from './postgres/warehouse-pool.ts'

const INVALID_TABLE_DEFINITION = '42P16'

/** Gives a view another definition, and keeps what operators granted on it, set on it and said of it. */
export async function replaceView(tx: Tx, view: string, definition: string): Promise<void> {
  const options = await readOptions(tx, view)
  await tx.query('savepoint view')
  try {
    await tx.query(`create or replace view ${view} ${options} as ${definition}`)
  } catch (error) {
    if (sqlState(error) !== INVALID_TABLE_DEFINITION) throw error
    await tx.query('rollback to savepoint view') // a view that is replaced can gain columns at its end alone
    const grants = await readGrants(tx, view)
    const comments = await readComments(tx, view)
    await tx.query(`drop view ${view}`)
    await tx.query(`create view ${view} ${options} as ${definition}`)
    await restoreGrants(tx, view, grants)
    await restoreComments(tx, view, comments)
  }
}

/** As `create view` takes them, such as `security_barrier`; a view that is replaced would lose them. */
async function readOptions(tx: Tx, view: string): Promise<string> {
  const { rows } = await tx.query<{ options: string[] | null }>(
    'select reloptions as options from pg_class where oid = to_regclass($1)',
    [view],
  )
  const options = rows[0]?.options ?? []
  return options.length > 0 ? `with (${options.join(', ')})` : ''
}

type Comment = { column: string; comment: string }

async function readComments(tx: Tx, view: string): Promise<Comment[]> {
  const { rows } = await tx.query<Comment>(
    `select quote_ident(a.attname) as "column", d.description as comment from pg_attribute a
     join pg_description d on d.objoid = a.attrelid and d.classoid = 'pg_class'::regclass and d.objsubid = a.attnum
     where a.attrelid = $1::regclass`,
    [view],
  )
  return rows
}

async function restoreComments(tx: Tx, view: string, comments: readonly Comment[]): Promise<void> {
  const { rows } = await tx.query<{ name: string }>(
    'select quote_ident(attname) as name from pg_attribute where attrelid = $1::regclass',
    [view],
  )
  for (const { column, comment } of comments)
    if (rows.some(({ name }) => name === column))
      await tx.query(`comment on column ${view}.${column} is ${escapeLiteral(comment)}`)
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
