import { once } from 'node:events'
import type { Config } from '../../config/env.ts'
import { migrate } from '../engines/migrate.ts'
import { EngineUnreachable, UsageProblem } from '../errors.ts'
import type { Log } from '../log.ts'
import { deriving } from '../service/recompute/extension.ts'
import { startService } from '../service/server.ts'
import type { Terminal } from './terminal.ts'

const migrations = new URL('../service/store/migrations/', import.meta.url)

export type ServiceCommand = {
  readonly config: Config
  readonly terminal: Terminal
  readonly log: Log
  /** Absent: PORT. 0 takes a free one. */
  readonly port: number | undefined
  readonly host: string
  /** False where the service runs as a role that may not change tables: then its owner migrates before. */
  readonly migrate: boolean
  /** Aborted when the service is to stop. */
  readonly signal: AbortSignal
}

export async function migrateService(databaseUrl: string): Promise<{ applied: string[] }> {
  return migrate({ databaseUrl, folder: migrations, schema: 'service' })
}

/** Serves until told to stop, then answers what is in flight and ends. With `--json` one line is printed when ready. */
export async function runService(command: ServiceCommand): Promise<number> {
  const { config, terminal, log, host, signal } = command
  const databaseUrl = databaseOf(config)
  if (command.migrate) await migrateService(databaseUrl)
  const port = command.port ?? config.port
  const limits = { keptBytesMax: config.keptBytesMax }
  const service = await startService({ databaseUrl, port, host, log, limits, extensions: [deriving] }).catch(explained)
  try {
    if (terminal.json) terminal.printJson({ url: service.url })
    else terminal.print(`Profile Service  ${service.url}\nreference        ${service.url}/docs\nCtrl-C stops it.`)
    if (!signal.aborted) await once(signal, 'abort')
  } finally {
    await service.close()
  }
  return 0
}

export function databaseOf(config: Config): string {
  if (config.databaseUrl) return config.databaseUrl
  throw new UsageProblem('run the Profile Service: DATABASE_URL is not set', {
    hint: 'Set it to a Postgres of your own, or try `vitalsync sandbox`, which brings one along.',
  })
}

function explained(cause: Error & { code?: string }): never {
  if (!/^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|28|3D)/.test(cause.code ?? '')) throw cause
  throw new EngineUnreachable(`reach Postgres: ${cause.message}`, { hint: 'Check DATABASE_URL.', cause })
}
