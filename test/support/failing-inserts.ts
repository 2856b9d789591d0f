import { isDistributed } from './distributed-warehouse.ts'

type Rows = (text: string, values?: unknown[]) => Promise<Array<Record<string, unknown>>>

/** Ends the transaction that stores a score with this SQLSTATE, so many times, whichever node stores it. */
export async function failScores(rows: Rows, state: string, times: number): Promise<void> {
  const tries = `create sequence tries;
    create function fail() returns trigger language plpgsql as $fail$ begin
      if nextval('tries') <= ${times} then raise exception 'by the test' using errcode = '${state}'; end if;
      return new; end $fail$`
  const trigger = 'create trigger fail before insert on %s for each statement execute function fail()'
  if (!isDistributed) {
    await rows(tries)
    await rows(trigger.replace('%s', 'vitalsync.scores'))
    return
  }
  // A divided table has no trigger, but each of its shards may.
  await onWorkers(rows, `set citus.enable_ddl_propagation = off; ${tries}`)
  const results = await rows(`select success, result from run_command_on_shards('vitalsync.scores', $1)`, [trigger])
  requireSuccess(results)
}

/** How many transactions came to store a score since then. */
export async function countTries(rows: Rows): Promise<number> {
  const ask = 'select case when is_called then last_value else 0 end::int as result from tries'
  const counts = isDistributed ? await onWorkers(rows, ask) : await rows(ask)
  return counts.reduce((sum, { result }) => sum + Number(result), 0)
}

async function onWorkers(rows: Rows, command: string): Promise<Array<Record<string, unknown>>> {
  const results = await rows('select success, result from run_command_on_workers($1)', [command])
  requireSuccess(results)
  return results
}

function requireSuccess(results: ReadonlyArray<Record<string, unknown>>): void {
  for (const { success, result } of results) if (success !== true) throw new Error(String(result))
}
