import { isDistributed } from './distributed-warehouse.ts'

type Rows = (text: string) => Promise<Array<Record<string, unknown>>>

/** The rows that a pool gives, for those who have no warehouse of `test-warehouse.ts`. */
export const rowsFrom =
  (pool: { query(text: string): Promise<{ rows: Array<Record<string, unknown>> }> }): Rows =>
  async (text) =>
    (await pool.query(text)).rows

const waiting = "wait_event_type = 'Lock' and datname = current_database()"

/** On a cluster one database of the node that has the rows knows who waits for them: all are asked. */
const onEachNode = (statement: string): string =>
  isDistributed ? `select success, result from run_command_on_all_nodes($$${statement}$$)` : statement

/** How many sessions of this database wait for a lock, on all nodes together. */
export async function countLockWaiters(rows: Rows): Promise<number> {
  const counts = await rows(onEachNode(`select count(*)::int as result from pg_stat_activity where ${waiting}`))
  return counts.reduce((sum, { result }) => sum + Number(result), 0)
}

/** How many transactions of this database Postgres ended because they waited in a circle: of connections that have ended. */
export async function countDeadlocks(rows: Rows): Promise<number> {
  const [found] = await rows('select deadlocks::int from pg_stat_database where datname = current_database()')
  return Number(found?.['deadlocks'])
}

/** Ends the sessions that wait for a lock, as a killed process does. */
export async function endLockWaiters(rows: Rows): Promise<void> {
  await rows(
    onEachNode(`select count(pg_terminate_backend(pid))::int as result from pg_stat_activity where ${waiting}`),
  )
}
