import { openReports } from '../warehouse/reports.ts'
import type { Run } from '../warehouse/runs.ts'
import type { CommandContext } from './engines.ts'
import { withWarehouse } from './open.ts'
import { duration, type Paint, shaded, table } from './terminal.ts'

/** The last runs, newest first. */
export async function runs(context: CommandContext & { limit: number }): Promise<number> {
  const { terminal, limit } = context
  const found = await withWarehouse(context, (pool) => openReports({ pool }).runs(limit))
  if (terminal.json) for (const run of found) terminal.printJson(run)
  else terminal.print(found.length === 0 ? 'No run yet.' : runsTable(found, terminal.paint))
  return 0
}

const shades = { running: undefined, done: 'good', stopped: 'odd', failed: 'bad' } as const

export function runsTable(found: readonly Run[], paint: Paint): string {
  return table(
    ['run', 'kind', 'state', 'started', 'took', 'profiles', 'failed', 'refused', 'requests', 'rows', 'pushed'],
    found.map((run) => [
      run.id,
      run.kind,
      shaded(run.state, shades[run.state]),
      minute(run.startedAt),
      run.endedAt ? duration(run.endedAt.getTime() - run.startedAt.getTime()) : '',
      run.done,
      shaded(run.failed, run.failed > 0 ? 'bad' : undefined),
      shaded(run.refused, run.refused > 0 ? 'odd' : undefined),
      run.requests,
      run.rowsWritten,
      run.itemsPushed,
    ]),
    paint,
  )
}

export const minute = (at: Date | null): string => (at === null ? '' : at.toISOString().slice(0, 16).replace('T', ' '))
