import { openReports } from '../warehouse/reports.ts'
import type { Run } from '../warehouse/runs.ts'
import type { CommandContext } from './engines.ts'
import { withWarehouse } from './open.ts'
import { duration, table } from './terminal.ts'

/** The last runs, newest first. */
export async function runs(context: CommandContext & { limit: number }): Promise<number> {
  const { terminal, limit } = context
  const found = await withWarehouse(context, (pool) => openReports({ pool }).runs(limit))
  if (terminal.json) for (const run of found) terminal.printJson(run)
  else terminal.print(found.length === 0 ? 'No run yet.' : runsTable(found))
  return 0
}

export function runsTable(found: readonly Run[]): string {
  return table(
    ['run', 'kind', 'state', 'started', 'took', 'profiles', 'failed', 'refused', 'requests', 'rows', 'pushed'],
    found.map((run) => [
      run.id,
      run.kind,
      run.state,
      minute(run.startedAt),
      run.endedAt ? duration(run.endedAt.getTime() - run.startedAt.getTime()) : '',
      run.done,
      run.failed,
      run.refused,
      run.requests,
      run.rowsWritten,
      run.itemsPushed,
    ]),
  )
}

export const minute = (at: Date | null): string => (at === null ? '' : at.toISOString().slice(0, 16).replace('T', ' '))
