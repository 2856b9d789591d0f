import { openCloseStack } from '../../base/close-stack.ts'
import type { LocalEngines } from '../../base/engines/local-engines.ts'
import { Problem } from '../../base/errors.ts'
import { type SampleOptions, startEngines } from '../join-engines.ts'
import { type CommandContext, exitCodes } from '../terminal/command-context.ts'

type UpOptions = {
  /** Leaves after the first sync. */
  readonly once: boolean
} & SampleOptions

/**
 * Runs the whole pipeline in one process: starts every engine that has no given address, syncs, then works by schedule. The pipeline
 * is loaded while Postgres starts, and the warehouse is prepared while the sandbox stores its people.
 */
export async function runUp(given: CommandContext, { once, ...sample }: UpOptions): Promise<number> {
  // Log lines would hide the remarks on the terminal: only warnings and errors are logged, unless LOG_LEVEL is set.
  const log = given.config.logLevelGiven ? given.log : given.log.child({}, { level: 'warn' })
  const context = { ...given, log }
  const { config, terminal, signal } = context
  const closeStack = openCloseStack()
  let engines: LocalEngines | undefined
  const loadPipeline = () => import('./up-pipeline.ts')
  const openMonitoring = async () => (await loadPipeline()).openUpMonitoring(context, closeStack)
  try {
    // A monitoring that is asked for answers from the first moment on.
    const isWatched = config.metricsPort !== undefined || config.otlp !== undefined
    const watched = isWatched ? await openMonitoring() : undefined
    const started = await startEngines(
      context,
      {
        sample,
        meanwhile: () => void loadPipeline().catch(() => undefined), // fails again where it is awaited
        prepareWarehouse: async (databases) => (await loadPipeline()).prepareWarehouse(databases, terminal),
      },
      closeStack,
    )
    engines = started.local
    const monitoring = watched ?? (await openMonitoring())
    const { runPipeline } = await loadPipeline()
    return await runPipeline(context, { once, monitoring, ...started }, closeStack)
  } catch (error) {
    if (!signal.aborted) throw explainFullDisk(engines ? await engines.faultOf(error) : error)
    terminal.progressEnd()
    return exitCodes.done
  } finally {
    await closeStack.close()
    if (signal.aborted) terminal.say('stopped')
  }
}

/** Any write may meet a full disk: the error has the code of the system or the code of Postgres. */
function explainFullDisk(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code !== 'ENOSPC' && code !== '53100') return error
  return new Problem('work in the data folder: the disk is full', {
    hint: 'Free some space, or choose a folder on another disk with VITALSYNC_DATA, and start again: nothing that was stored is lost.',
    cause: error,
  })
}
