import pg from 'pg'

/** The migrations fill these, and they never change. */
const keptTables = ['migrations', 'secrets', 'calendar', 'day_streams']

/** The warehouse on a Citus cluster that all tests share, one after the other (`npm run citus`); none in every other run. */
export const distributedUrl: string | undefined = process.env['TEST_CITUS_URL'] || undefined

/** Ends the sessions of the test before, and empties every table. Making a warehouse and dividing it takes seconds. */
export async function emptyWarehouse(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
         and application_name not like 'citus%'`,
    )
    const { rows } = await client.query<{ tables: string }>(
      `select string_agg(format('vitalsync.%I', tablename), ', ') as tables from pg_tables
       where schemaname = 'vitalsync' and tablename <> all($1)`,
      [keptTables],
    )
    await client.query(`truncate ${rows[0]?.tables} restart identity`)
  } finally {
    await client.end()
  }
}
