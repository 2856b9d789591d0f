import type { Registry } from 'prom-client'
import type { Log } from '../log.ts'

type TraceSampler = `${'' | 'parentbased_'}${'always_on' | 'always_off' | 'traceidratio'}`

/** From the standard variables `OTEL_*`. */
export type OtlpSettings = {
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  /** By the standard's name. `parentbased_…`: a trace that another process began is recorded if that process does. */
  readonly sampler: TraceSampler
  /** The share of traces that the samplers by ratio record. */
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
