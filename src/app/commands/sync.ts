import { profileIdsOf, type Selection, tellIfNobody } from '../../operations/select-profiles.ts'
import { completeRun, printRunSummary, untilSandboxDerived } from '../complete-run.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { withPipeline } from '../with-pipeline.ts'

/** Starts the same work as the nightly run now, and follows it to its end. */
export async function runSync(context: CommandContext, { profile, stream }: Selection): Promise<number> {
  const run = await withPipeline(context, async (opened) => {
    if (opened.sandbox) await untilSandboxDerived(opened.sandbox, { terminal: context.terminal, signal: opened.signal })
    const profileIds = await profileIdsOf(opened.pipeline.pool, profile)
    if (!profileIds) await tellIfNobody(opened.pipeline.pool, context.terminal)
    const params = {
      ...(profileIds ? { profileIds } : {}),
      ...(stream.length > 0 ? { streams: stream } : {}),
    }
    return completeRun(context, opened, await opened.pipeline.runs.create('sync', params))
  })
  return printRunSummary('sync', context.terminal, run)
}
