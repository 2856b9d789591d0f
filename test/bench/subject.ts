import { setTimeout as wait } from 'node:timers/promises'
import { readConfig } from '../../config/env.ts'
import { catalogue } from '../../config/streams.ts'
import { createLog } from '../../src/base/log.ts'
import { requireGivenAddresses } from '../../src/operations/addresses.ts'
import { migrateWarehouse } from '../../src/operations/migrate-warehouse.ts'
import { openPipeline, type Pipeline } from '../../src/operations/pipeline.ts'
import { type RunningWorker, startWorker } from '../../src/operations/processes/start-worker.ts'
import { produceRun } from '../../src/operations/produce-run.ts'
import { openWarehousePool } from '../../src/pipeline/warehouse/postgres/warehouse-pool.ts'
import { createProfiles } from '../../src/pipeline/warehouse/profiles/stored-profiles.ts'
import type { Run, RunParams } from '../../src/pipeline/warehouse/runs/stored-runs.ts'
import { testDivision } from '../support/test-pool.ts'
import { firstDay } from './canned.ts'

export type SubjectOptions = {
  readonly databaseUrl: string
  readonly queueUrl: string
  readonly upstreamUrl: string
  /** Requests in flight that the budget allows, and jobs at once. */
  readonly inFlight?: number
  readonly concurrency?: number
  readonly settings?: Readonly<Record<string, string>>
  /** Whether this process works on jobs too. */
  readonly works?: boolean
}

/** The pipeline itself, opened as a worker opens it, every promise switched on. */
export type Subject = {
  readonly pipeline: Pipeline
  /** Runs a producer and its jobs to their end; gives the run and the seconds it took. */
  run(kind: string, params: RunParams): Promise<{ run: Run; seconds: number }>
  produce(kind: string, params: RunParams): Promise<{ run: Run; seconds: number }>
  /** Ends a producer that waits for room in the queue. */
  stop(): void
  close(): Promise<void>
}

/** As many jobs as requests may be in flight: while some wait for their commit, others ask. */
export const jobsForAll = 128

export function settingsOf(options: SubjectOptions): Record<string, string> {
  return {
    DATABASE_URL: options.databaseUrl,
    QUEUE_URL: options.queueUrl,
    UPSTREAM_URL: options.upstreamUrl,
    UPSTREAM_CLIENT_ID: 'bench',
    UPSTREAM_CLIENT_SECRET: 'bench',
    TOKEN_KEY: '0'.repeat(64),
    BUDGET_PER_SECOND: '1000000',
    BUDGET_IN_FLIGHT: String(options.inFlight ?? 128),
    CONCURRENCY: String(options.concurrency ?? 64),
    REREAD_SECONDS: '0',
    LOG_LEVEL: 'warn',
    ...options.settings,
  }
}

export async function openSubject(options: SubjectOptions): Promise<Subject> {
  const config = readConfig(settingsOf(options))
  const log = createLog({ level: config.logLevel })
  const failed = (error: Error) => {
    throw error
  }
  const pipeline = await openPipeline({ config, addresses: requireGivenAddresses(config), log, onSkewed: failed })
  const working: RunningWorker | undefined =
    options.works === false ? undefined : startWorker({ pipeline, config, log, onSilent: failed })
  const stopping = new AbortController()
  const produce = async (kind: string, params: RunParams) => {
    const startedAt = performance.now()
    const run = await pipeline.runs.create(kind, params)
    await produceRun({ pipeline, config, signal: stopping.signal }, run)
    return { run, seconds: (performance.now() - startedAt) / 1000 }
  }
  return {
    pipeline,
    produce,
    stop: () => stopping.abort(),
    async run(kind, params) {
      const startedAt = performance.now()
      const { run } = await produce(kind, params)
      for (;;) {
        const now = await pipeline.runs.get(run.id)
        if (now && now.failed > 0) throw new Error(`run ${kind}: ${now.failed} jobs failed`)
        if (now && now.state !== 'running') return { run: now, seconds: (performance.now() - startedAt) / 1000 }
        await wait(20)
      }
    },
    async close() {
      await working?.close()
      await pipeline.close()
    },
  }
}

/** A fresh warehouse that knows `profiles` people and wants thirty days of each. */
export async function fillWarehouse(databaseUrl: string, externalIds: readonly string[]): Promise<void> {
  await migrateWarehouse(databaseUrl, () => undefined)
  const pool = openWarehousePool({ databaseUrl, division: testDivision, connectionsMax: 1, name: 'bench' })
  const profiles = createProfiles({ pool, catalogue, tokenKeys: [] })
  const wantedFrom = new Date(firstDay(Date.now()))
  for (let at = 0; at < externalIds.length; at += 1000) {
    await profiles.add(externalIds.slice(at, at + 1000), { wantedFrom, state: 'active' })
  }
  await pool.query('vacuum analyze')
  await pool.end()
}

export const people = (count: number): string[] => Array.from({ length: count }, (_, index) => `person-${index + 1}`)
