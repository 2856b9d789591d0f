import type pg from 'pg'

/** Every table of a story, those that others refer to first. */
const tables = [
  ...['names', 'profiles', 'ledger', 'refusals', 'failures', 'quarantine', 'parcels', 'items'],
  ...['biomarkers', 'tags', 'scores', 'demographics', 'history', 'reading_tags', 'silent_differences'],
  ...['tombstones', 'runs', 'orders', 'slots'],
] as const

export type SavedCopy = {
  save(): Promise<void>
  restore(): Promise<void>
  /** Empties the warehouse, for the next story. */
  clear(): Promise<void>
}

/** A backup of the whole warehouse, in a schema of its own. */
export async function openSavedCopy(admin: pg.ClientBase): Promise<SavedCopy> {
  await admin.query('create schema saved')
  const columns = new Map<string, string>()
  for (const table of tables) {
    await admin.query(`create table saved.${table} as table vitalsync.${table} with no data`)
    const { rows } = await admin.query<{ list: string }>(
      `select string_agg(quote_ident(attname), ', ' order by attnum) as list from pg_attribute
       where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
      [`vitalsync.${table}`],
    )
    columns.set(table, rows[0]?.list ?? '')
  }
  const clear = [...tables].reverse().map((table) => `delete from vitalsync.${table}`)
  const save = tables.flatMap((table) => [
    `delete from saved.${table}`,
    `insert into saved.${table} (${columns.get(table)}) select ${columns.get(table)} from vitalsync.${table}`,
  ])
  const restore = tables.map(
    (table) =>
      `insert into vitalsync.${table} (${columns.get(table)}) overriding system value select ${columns.get(table)} from saved.${table}`,
  )
  const run = async (statements: readonly string[]) => void (await admin.query(statements.join(';\n')))
  return { save: () => run(save), restore: () => run([...clear, ...restore]), clear: () => run(clear) }
}
