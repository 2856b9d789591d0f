import type { Config } from '../../../config/env.ts'
import type { CloseStack } from '../../base/close-stack.ts'
import { formatMinute, formatNumber } from '../../base/text/readable.ts'
import { troubleText } from '../../operations/read-status.ts'
import { retryRecordedFailures } from '../../operations/retry-failures.ts'
import { requireKnownProfile, unknownIdProblem } from '../../operations/select-profiles.ts'
import { discardedFailures, onlyAfterRetry, retriedText } from '../../pipeline/ledger/retry.ts'
import { openQueueEngine } from '../../pipeline/queue/engine.ts'
import { createEnqueuer } from '../../pipeline/queue/enqueue.ts'
import { createLiveWorkers } from '../../pipeline/warehouse/runs/live-workers.ts'
import { createFailures, type FailureFilter } from '../../pipeline/warehouse/runs/stored-failures.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { printActed, printList, printResult } from '../terminal/print-result.ts'
import { shadedCell } from '../terminal/table.ts'
import { readWarehouse, withWarehouse } from '../with-pipeline.ts'

const named = ['failure', 'vitalsync failures list'] as const

export async function listFailures(
  context: CommandContext,
  { limit, ...filter }: FailureFilter & { limit: number },
): Promise<void> {
  const { terminal } = context
  const found = await readWarehouse(context, async (pool) => {
    await requireKnownProfile(pool, filter.profile)
    // No failure is recorded while nothing can be reached: the jobs wait.
    for (const trouble of await createLiveWorkers({ pool }).listTroubles())
      terminal.say(troubleText(trouble, 'its jobs'))
    return createFailures({ pool }).list(filter, limit + 1)
  })
  printList(terminal, ['failures list', found], {
    limit,
    none: 'No failures.',
    head: ['failure', 'profile', 'tries', 'last', 'next try', 'reason'],
    cells: (failure) => [
      failure.id,
      failure.externalId,
      failure.attempts,
      formatMinute(failure.lastAt),
      failure.nextTryAt ? formatMinute(failure.nextTryAt) : shadedCell(onlyAfterRetry, 'odd'),
      failure.reason,
    ],
  })
}

export async function showFailure(context: CommandContext, { id }: { id: string }): Promise<void> {
  const [found] = await readWarehouse(context, (pool) => createFailures({ pool }).list({ ids: [id] }, 1))
  if (!found) throw unknownIdProblem(...named)
  const span = found.startAt && found.endAt ? ` ${found.startAt.toISOString()} to ${found.endAt.toISOString()}` : ''
  const lines = [
    `${found.kind} ${found.subject}${span} of ${found.externalId}`,
    `reason:   ${found.reason}${found.status === null ? '' : ` (status ${found.status})`}`,
    `what to do: ${found.hint ?? 'see the worker’s log at level error'}`,
    `tried ${formatNumber(found.attempts)} times, first ${found.firstAt.toISOString()}, last ${found.lastAt.toISOString()}`,
    `next try: ${found.nextTryAt?.toISOString() ?? onlyAfterRetry}`,
  ]
  printResult(context.terminal, ['failures show', found], lines)
}

export async function retryFailures(context: CommandContext, filter: FailureFilter): Promise<void> {
  const { due, enqueued, retried } = await withWarehouse(context, async (pool, { queueUrl, tokenKeys, closeStack }) => {
    await requireKnownProfile(pool, filter.profile)
    const { config, signal } = context
    return retryRecordedFailures(
      { pool, tokenKeys, config, signal, joinQueue: () => joinQueue(queueUrl, config, closeStack) },
      filter,
    )
  })
  const acted = { found: retried, filter, named, text: retriedText({ due, enqueued }) }
  printActed(context.terminal, ['failures retry', { retried, enqueued }], acted)
}

async function joinQueue(queueUrl: string, { queueParts }: Config, closeStack: CloseStack) {
  const engine = closeStack.add(await openQueueEngine(queueUrl, { parts: queueParts }), 'queue')
  await engine.requireUsable()
  return createEnqueuer(engine)
}

export async function discardFailures(context: CommandContext, filter: FailureFilter): Promise<void> {
  const discarded = await withWarehouse(context, async (pool) => {
    await requireKnownProfile(pool, filter.profile)
    return createFailures({ pool }).discard(filter)
  })
  const text = discarded > 0 ? `${formatNumber(discarded)} discarded: ${discardedFailures}.` : ''
  printActed(context.terminal, ['failures discard', { discarded }], { found: discarded, filter, named, text })
}
