import { isDistributed } from './distributed-warehouse.ts'

type Rows = (text: string) => Promise<Array<Record<string, unknown>>>

const waiting = "wait_event_type = 'Lock' and datname = current_database()"

/** On a cluster one database of the node that has the rows knows who waits for them: all are asked. */
const onEachNode = (statement: string): string =>
  isDistributed ? `select success, result from run_command_on_all_nodes($$${statement}$$)` : statement

/** How many sessions of this database wait for a lock, on all nodes together. */
export async function countLockWaiters(rows: Rows): Promise<number> {
  const counts = await rows(onEachNode(`select count(*)::int as result from pg_stat_activity where ${waiting}`))
  return counts.reduce((sum, { result }) => sum + Number(result), 0)
}

/** Ends the sessions that wait for a lock, as a killed process does. */
export async function endLockWaiters(rows: Rows): Promise<void> {
  await rows(
    onEachNode(`select count(pg_terminate_backend(pid))::int as result from pg_stat_activity where ${waiting}`),
  )
}
