import { type CloseStack, withCloseStack } from '../base/close-stack.ts'
import { Halted } from '../base/errors.ts'
import { MINUTE } from '../base/time/units.ts'
import { type EngineAddresses, resolveDatabases } from '../operations/addresses.ts'
import { requireMigrated, type WarehouseUse } from '../operations/migrate-warehouse.ts'
import type { Pipeline } from '../operations/pipeline.ts'
import type { UpstreamApi } from '../pipeline/upstream/api.ts'
import { createDivision } from '../pipeline/warehouse/divided/division.ts'
import { openWarehousePool, type Pool } from '../pipeline/warehouse/postgres/warehouse-pool.ts'
import { joinEngines, joinPostgres, type StartedEngines } from './join-engines.ts'
import type { CommandContext } from './terminal/command-context.ts'

type WarehouseParts = Pick<EngineAddresses, 'databaseUrl' | 'queueUrl' | 'tokenKeys' | 'questionsKeys'> & {
  readonly closeStack: CloseStack
}

/** Opens the warehouse, for a command that does not call upstream; runs `work` and closes the warehouse, also when `work` fails. */
export async function withWarehouse<T>(
  context: CommandContext,
  work: (pool: Pool, parts: WarehouseParts) => Promise<T>,
  use: WarehouseUse = 'work',
): Promise<T> {
  const { config } = context
  return withCloseStack(async (closeStack) => {
    const local = config.databaseUrl ? undefined : await joinPostgres(context, closeStack)
    const { tokenKeys = [], ...addresses } = resolveDatabases(config, local)
    const { databaseUrl } = addresses
    const pool = openWarehousePool({
      databaseUrl,
      connectionsMax: 4,
      name: 'vitalsync command',
      pipeline: use === 'work', // only commands that read open cursors
      statementTimeoutMs: 10 * MINUTE,
      readOnly: use === 'read',
      division: createDivision(config.warehouseShards),
      sayFrozen: context.terminal.say,
    })
    closeStack.add({ close: () => pool.end() }, 'pool')
    await requireMigrated(pool, databaseUrl, use)
    return work(pool, { ...addresses, tokenKeys, closeStack })
  })
}

/** The same for a command that writes nothing: it may try the tables of any newer version. */
export const readWarehouse: typeof withWarehouse = (context, work) => withWarehouse(context, work, 'read')

/** Joins or starts the Profile Service, for a command that asks it alone. */
export async function withUpstream<T>(
  context: CommandContext,
  work: (upstream: UpstreamApi) => Promise<T>,
): Promise<T> {
  return withCloseStack(async (closeStack) => {
    const { addresses } = await joinEngines(context, closeStack)
    return askAlone(addresses.upstream, work)
  })
}

/**
 * Asks upstream one request after the other, by a budget of its own: the question of one person at a terminal is answered also where the
 * queue, which has the budget of the fleet, is away.
 */
export async function askAlone<T>(
  address: EngineAddresses['upstream'],
  work: (upstream: UpstreamApi) => Promise<T>,
): Promise<T> {
  const { openLoneUpstream } = await import('../pipeline/upstream/lone-upstream.ts') // commands that ask upstream nothing load no client
  const limits = { requestsPerSecond: Number.POSITIVE_INFINITY, inFlight: 1 }
  return withCloseStack((closeStack) =>
    work(closeStack.add(openLoneUpstream({ ...address, limits }), 'upstream').api),
  ).catch((error: unknown) => {
    // No later command waits for what halted the account in this process alone.
    throw error instanceof Halted && error.cause instanceof Halted ? error.cause : error
  })
}

export type OpenPipeline = StartedEngines & {
  readonly pipeline: Pipeline
  readonly closeStack: CloseStack
  /** Aborted by Ctrl-C and by `fail`. */
  readonly signal: AbortSignal
  /** Stops the work; `withPipeline` throws the error. */
  fail(error: Error): void
}

/** Opens warehouse, queue and upstream, runs `work` and closes them, also when `work` fails. */
export async function withPipeline<T>(context: CommandContext, work: (opened: OpenPipeline) => Promise<T>): Promise<T> {
  const stop = new AbortController()
  const fail = (error: Error) => stop.abort(error)
  return withCloseStack(async (closeStack) => {
    const engines = await joinEngines(context, closeStack)
    const { config, log } = context
    const { openPipeline } = await import('../operations/pipeline.ts') // queue and upstream: `withWarehouse` needs neither
    const { addresses } = engines
    const pipeline = await openPipeline({ config, addresses, log, onSkewed: fail })
    closeStack.add(pipeline, 'pipeline')
    await pipeline.engine.requireUsable()
    const signal = AbortSignal.any([context.signal, stop.signal])
    return work({ ...engines, pipeline, closeStack, signal, fail })
  }).catch((error: unknown) => {
    throw stop.signal.aborted ? stop.signal.reason : error
  })
}
