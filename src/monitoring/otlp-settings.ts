import type { Registry } from 'prom-client'
import type { Log } from '../log.ts'

/** From the standard variables `OTEL_*`. */
export type OtlpSettings = {
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  /** The share of new traces that are recorded. A trace that another process began is recorded if it does. */
  readonly tracesShare: number
  /** Absent: the name that the process gives itself. */
  readonly serviceName?: string | undefined
}

export type OtlpProcess = { readonly name: string; readonly log: Log }

export type OtlpExport = {
  exportMetrics(registry: Registry): void
  /** Sends what waits. */
  close(): Promise<void>
}
