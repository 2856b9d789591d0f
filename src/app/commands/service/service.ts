import { availableParallelism } from 'node:os'
import { withCloseStack } from '../../../base/close-stack.ts'
import { openOtlp } from '../../../base/monitoring/open-otlp.ts'
import { untilAborted } from '../../../operations/processes/repeat.ts'
import { consoleExtension, consolePath } from '../../../service/console/console-extension.ts'
import { deriveExtension } from '../../../service/recompute/extension.ts'
import { startService } from '../../../service/server.ts'
import { migrateService } from '../../../service/store/migrate-service.ts'
import { requireServiceDatabase } from '../../service-database.ts'
import type { CommandContext } from '../../terminal/command-context.ts'

type ServiceOptions = {
  /** Absent: PORT. 0 takes a free one. */
  readonly port?: number
  readonly host: string
  /** False where the service runs as a role that may not change tables: their owner migrates before. */
  readonly migrate: boolean
}

/** Serves until stopped, then finishes the requests in flight. With `--json` one line is printed when it is ready. */
export async function runService(context: CommandContext, options: ServiceOptions): Promise<void> {
  const { config, terminal, log, signal } = context
  const databaseUrl = requireServiceDatabase(config)
  if (options.migrate) await migrateService(databaseUrl)
  const { host, port = config.port } = options
  const { metricsPort, metricsHost, trustedProxies, serviceLimits: limits } = config
  await withCloseStack(async (closeStack) => {
    const otlp = await openOtlp(config.otlp, { name: 'vitalsync-service', log })
    if (otlp) closeStack.add(otlp, 'traces')
    const watched = { metricsPort, metricsHost, otlp }
    const settings = { databaseUrl, port, host, ...watched, trustedProxies, log, limits }
    const starting = startService(settings, async (extend) => {
      await extend(deriveExtension({ threads: config.deriveThreads ?? coresLessOne() }))
      await extend(consoleExtension({ passwordFile: config.consolePasswordFile, trustedProxies }))
    })
    const service = closeStack.add(await starting, 'service')
    if (terminal.json) terminal.printJson('service', { url: service.url })
    else
      terminal.print(
        `Profile Service  ${service.url}\nreference        ${service.url}/docs\nconsole          ${service.url}${consolePath}\nCtrl-C stops it.`,
      )
    await untilAborted(signal)
  })
}

/** One core is left to the requests. */
const coresLessOne = () => Math.max(1, availableParallelism() - 1)
