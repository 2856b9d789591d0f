import { UsageProblem } from '../../base/errors.ts'
import { formatDuration, formatMinute } from '../../base/text/readable.ts'
import { unknownIdProblem } from '../../operations/select-profiles.ts'
import { createRuns, type Run } from '../../pipeline/warehouse/runs/stored-runs.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { formatTable, shadedCell } from '../terminal/table.ts'
import type { Paint } from '../terminal/terminal.ts'
import { readWarehouse, withWarehouse } from '../with-pipeline.ts'

/** Prints the last runs, newest first. */
export async function runRuns(context: CommandContext, { limit }: { limit: number }): Promise<void> {
  const { terminal } = context
  const found = await readWarehouse(context, (pool) => createRuns({ pool }).listNewest(limit))
  if (terminal.json) for (const run of found) terminal.printJson('runs', run)
  else terminal.print(found.length === 0 ? 'No run yet.' : runsTable(found, terminal.paint))
}

/** Ends a run that is under way, whichever process began it. */
export async function stopRun(context: CommandContext, { run: runId }: { run: string }): Promise<void> {
  await withWarehouse(context, async (pool) => {
    const runs = createRuns({ pool })
    const run = await runs.get(runId)
    if (!run) throw unknownIdProblem('run', 'vitalsync runs')
    if (run.state !== 'running')
      throw new UsageProblem(`stop run: run ${runId} is ${run.state}`, { hint: 'Those under way: vitalsync runs.' })
    await runs.end(runId, 'stopped')
  })
  context.terminal.print(`Stopped run ${runId}.`)
}

const stateShades = { running: undefined, done: 'good', stopped: 'odd', failed: 'bad' } as const

export function runsTable(found: readonly Run[], paint: Paint): string {
  return formatTable(
    [
      'run',
      'kind',
      'state',
      'started',
      'took',
      'profiles',
      'failed',
      'refused',
      'requests',
      'rows',
      'pushed',
      'by others',
    ],
    found.map((run) => [
      run.id,
      run.kind,
      shadedCell(run.state, stateShades[run.state]),
      formatMinute(run.startedAt),
      run.endedAt ? formatDuration(run.endedAt.getTime() - run.startedAt.getTime()) : '',
      run.done,
      shadedCell(run.failed, run.failed > 0 ? 'bad' : undefined),
      shadedCell(run.refused, run.refused > 0 ? 'odd' : undefined),
      run.requests,
      run.rowsWritten,
      run.itemsPushed,
      run.itemsPushedElsewhere,
    ]),
    paint,
  )
}
