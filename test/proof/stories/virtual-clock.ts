import type pg from 'pg'

/**
 * Gives a database a clock of its own. The functions of schema `virtual` stand before those of Postgres on the search path, so
 * the program's statements ask this clock by the names that they use anyway. Column defaults, which were resolved when their
 * table was made, are defined again.
 */
export async function installVirtualClock(admin: pg.ClientBase, database: string): Promise<void> {
  await admin.query(`
    create schema virtual;
    create unlogged table virtual.clock (at timestamptz not null);
    insert into virtual.clock values ('epoch');
    create function virtual.statement_timestamp() returns timestamptz language sql stable as 'select at from virtual.clock';
    create function virtual.clock_timestamp() returns timestamptz language sql volatile as 'select at from virtual.clock';
    create function virtual.now() returns timestamptz language sql stable as 'select at from virtual.clock';
    alter database "${database}" set search_path = virtual, pg_catalog, public`)
  const { rows } = await admin.query<{ relation: string; name: string; expression: string }>(
    `select d.adrelid::regclass::text as relation, quote_ident(a.attname) as name, pg_get_expr(d.adbin, d.adrelid) as expression
     from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
     where pg_get_expr(d.adbin, d.adrelid) ~ '(clock_timestamp|statement_timestamp|now)[(][)]' and a.attgenerated = ''`,
  )
  for (const { relation, name, expression } of rows) {
    const virtual = expression.replace(
      /(?:pg_catalog\.)?(clock_timestamp|statement_timestamp|now)\(\)/g,
      'virtual.$1()',
    )
    await admin.query(`alter table ${relation} alter column ${name} set default ${virtual}`)
  }
}

export const setVirtualClock = (admin: pg.ClientBase, ms: number): Promise<unknown> =>
  admin.query({
    name: 'set clock',
    text: `update virtual.clock set at = timestamptz 'epoch' + $1::float8 * interval '1 millisecond'`,
    values: [ms],
  })
