import type { OrderKey } from '../../src/pipeline/transfer/order.ts'
import type { Production } from '../../src/pipeline/warehouse/runs/production.ts'
import type { Runs } from '../../src/pipeline/warehouse/runs/stored-runs.ts'

export async function takeProduction(runs: Runs, runId: string): Promise<Production> {
  const production = await runs.takeProduction(runId)
  if (production === undefined) throw new Error(`take run ${runId}: another process has it`)
  return production
}

/** Records orders, as a producer does with each page. */
export async function recordPage(runs: Runs, runId: string, orders: readonly OrderKey[]): Promise<void> {
  const production = await takeProduction(runs, runId)
  const afterId = orders.at(-1)?.profileId ?? '0'
  if (!(await runs.recordOrders(production, { orders, afterId })))
    throw new Error(`record orders of run ${runId}: lost`)
  await runs.releaseProduction(production, afterId)
}

/** Ends the enqueuing of a run: from then on it ends with its last job. */
export async function endProduction(runs: Runs, runId: string): Promise<void> {
  if (!(await runs.endProduction(await takeProduction(runs, runId)))) throw new Error(`end run ${runId}: lost`)
}
