import { withCloseStack } from '../../base/close-stack.ts'
import { requireGivenAddresses } from '../../operations/addresses.ts'
import { openPipeline } from '../../operations/pipeline.ts'
import { untilAborted } from '../../operations/processes/repeat.ts'
import { openMonitoring } from '../../operations/processes/start-monitoring.ts'
import { startProducingScheduler } from '../../operations/processes/start-producing.ts'
import { warnOfExposedConnections } from '../exposed-connections.ts'
import type { CommandContext } from '../terminal/command-context.ts'

/** Creates runs by the cron lines until SIGTERM. Any number of processes may run: each slot is claimed once. */
export async function runSchedule({ config, log, signal }: CommandContext): Promise<void> {
  const stop = new AbortController()
  return withCloseStack(async (closeStack) => {
    const addresses = requireGivenAddresses(config)
    const monitoring = closeStack.add(await openMonitoring(config, { name: 'vitalsync-schedule', log }), 'monitoring')
    warnOfExposedConnections(log, addresses)
    const pipeline = closeStack.add(
      await openPipeline({ config, addresses, log, onSkewed: (error) => stop.abort(error) }),
      'pipeline',
    )
    const scheduler = closeStack.add(await startProducingScheduler(pipeline, config, log), 'schedule')
    closeStack.add(monitoring.watch(pipeline), 'fleet watch')
    for (const { name, at } of scheduler.nextTicks())
      log.info({ schedule: name, next: at?.toISOString() }, 'schedule is ready')
    await untilAborted(AbortSignal.any([signal, stop.signal]))
    if (stop.signal.aborted) throw stop.signal.reason
  })
}
