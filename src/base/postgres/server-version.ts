import type pg from 'pg'

export const POSTGRES_OLDEST = 15

/** A connection or a pool. */
type Queryable = { query<R extends pg.QueryResultRow>(text: string): Promise<{ rows: R[] }> }

/** Throws an error whose words the table of causes knows (`too old`). */
export async function requireServerVersion(client: Queryable): Promise<void> {
  const { rows } = await client.query<{ text: string; number: number }>(
    "select current_setting('server_version') as text, current_setting('server_version_num')::int as number",
  )
  const [version] = rows
  if (version && version.number < POSTGRES_OLDEST * 10_000) throw new Error(`Postgres ${version.text} is too old`)
}
