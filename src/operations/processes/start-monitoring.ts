import { metrics } from '@opentelemetry/api'
import { Registry } from 'prom-client'
import type { Config } from '../../../config/env.ts'
import type { Problem } from '../../base/errors.ts'
import { createMeterProvider } from '../../base/monitoring/meter-provider.ts'
import { openMetricsPort } from '../../base/monitoring/metrics-port.ts'
import { openOtlp } from '../../base/monitoring/open-otlp.ts'
import type { OtlpProcess } from '../../base/monitoring/start-otlp.ts'
import { findUnready } from '../../pipeline/fleet/readiness.ts'
import { type FleetWatch, startFleetWatch } from '../fleet-watch.ts'
import type { Pipeline } from '../pipeline.ts'
import { addFleetGauges } from './fleet-gauges.ts'
import { addProcessGauges } from './process-gauges.ts'

/** A worker knows first that upstream refuses its account. */
type HaltedProcess = { halted(): Problem | undefined }

type Monitoring = {
  /** Undefined where no METRICS_PORT is set. */
  readonly url: string | undefined
  /** From now on it reports on this pipeline; before and after, the process lives and is not ready. */
  watch(pipeline: Pipeline, worker?: HaltedProcess): { close(): Promise<void> }
  close(): Promise<void>
}

/**
 * Serves /metrics, /health and /ready on METRICS_PORT, and sends traces and metrics by OTLP; neither where it is not set. To be opened before the pipeline: what
 * the pipeline's parts record goes to the meter provider that they find when they are opened.
 */
export async function openMonitoring(config: Config, otlpProcess: OtlpProcess): Promise<Monitoring> {
  const { metricsPort, metricsHost } = config
  const { log } = otlpProcess
  if (metricsPort === undefined && config.otlp === undefined) return noMonitoring
  const registry = new Registry()
  const watched: Watched = {}
  const unready = () => findUnready(readinessOf(watched))
  addProcessGauges(registry, {
    pipeline: () => watched.pipeline,
    watch: () => watched.watch,
    unready,
    dataFolder: config.dataFolder,
  })
  addFleetGauges(registry, () => watched.watch)
  metrics.setGlobalMeterProvider(createMeterProvider(registry))
  const listening = { registry, host: metricsHost, unready }
  const port = metricsPort === undefined ? undefined : await openMetricsPort({ ...listening, port: metricsPort })
  if (port) log.info({ url: port.url }, 'metrics are served')
  const otlp = await openOtlp(config.otlp, otlpProcess)
  otlp?.exportMetrics(registry)
  return {
    url: port?.url,
    watch(pipeline, worker) {
      const watch = startFleetWatch(pipeline, config, log)
      Object.assign(watched, { pipeline, worker, watch })
      return {
        async close() {
          watched.isStopping = true
          await watch.close()
        },
      }
    },
    async close() {
      port?.close()
      await otlp?.close()
      metrics.disable()
    },
  }
}

type Watched = { pipeline?: Pipeline; watch?: FleetWatch; worker?: HaltedProcess; isStopping?: boolean }

const noMonitoring: Monitoring = {
  url: undefined,
  watch: () => ({ close: async () => undefined }),
  close: async () => undefined,
}

function readinessOf({ watch, worker, isStopping = false }: Watched) {
  const skewMs = watch?.skewMs() ?? 0
  const nowMs = Date.now()
  // The facts carry the database's time, the answers this process's.
  const facts = watch?.quick()
  return {
    nowMs,
    isStopping,
    databaseAnsweredAtMs: watch?.databaseAnsweredAtMs(),
    queueAnsweredAtMs: watch?.queueAnsweredAtMs(),
    skewMs,
    halted: worker?.halted()?.message,
    facts: facts && { ...facts, progress: { ...facts.progress, sinceMs: facts.progress.sinceMs - skewMs } },
  }
}
