type Queryable = { query(text: string, values?: unknown[]): Promise<unknown> }

/** Adds people as rows alone, without a ledger. `columns` are SQL expressions, in which `n` is the row of the directory. */
export async function insertPeople(
  db: Queryable,
  names: readonly string[],
  columns: Readonly<Record<string, string>> = {},
): Promise<void> {
  const all = { id: 'n.id', external_id: 'n.external_id', wanted_from: 'now()', ...columns }
  await db.query('insert into vitalsync.names (external_id) select unnest($1::text[])', [names])
  await db.query(
    `insert into vitalsync.profiles (${Object.keys(all).join(', ')})
     select ${Object.values(all).join(', ')} from vitalsync.names n where n.external_id = any($1::text[]) order by n.id`,
    [names],
  )
}

/** Names of this many people, in the order of the alphabet. */
export const peopleNames = (count: number, before = 'person-', digits = 0): string[] =>
  Array.from({ length: count }, (_, index) => `${before}${String(index + 1).padStart(digits, '0')}`)
