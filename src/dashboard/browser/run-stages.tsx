import type { Json } from '../../web/browser/ask.ts'
import { Table } from '../../web/browser/parts.tsx'
import { shownCount, shownDecimal, shownNumber } from '../../web/browser/shown.ts'
import type { RunAnswer } from '../routes/run-routes.ts'
import { type LiveNow, live } from './dashboard-state.ts'

type OneRun = Json<RunAnswer>
type Stage = { readonly name: string; readonly told: string; readonly isSlow: boolean }

/** Nearly all of the budget is used: requests wait for it. */
const BUDGET_FULL = 0.9

/** The stages of a run that is under way, in the order in which work goes through them. The first that holds the others up is marked. */
export function RunStages({ run, tookMs }: { run: OneRun; tookMs: number }) {
  const now = live.value
  if (!now) return <p class="loading">Looking …</p>
  const stages = stagesOf({ run, tookMs, now })
  const slowest = stages.find(({ isSlow }) => isSlow)
  return (
    <Table head={['stage', 'at this moment', '']} label="Stages of the run">
      {stages.map((stage) => (
        <tr key={stage.name}>
          <td>{stage.name}</td>
          <td>{stage.told}</td>
          <td class="tone-odd">{stage === slowest && 'the others wait for this'}</td>
        </tr>
      ))}
    </Table>
  )
}

function stagesOf({ run, tookMs, now }: { run: OneRun; tookMs: number; now: LiveNow }): Stage[] {
  const { quick, budget, upstream } = now
  const queue = quick?.queue ?? []
  const sum = (name: 'waiting' | 'active' | 'delayed') => queue.reduce((all, lane) => all + lane[name], 0)
  const [waiting, active, delayed] = [sum('waiting'), sum('active'), sum('delayed')]
  const used = budget
    ? budget.value.answersPerSecond / Math.max(1, budget.value.requestsPerSecond ?? Number.POSITIVE_INFINITY)
    : 0
  const isPaused = budget?.value.pausedUntil != null
  const people = run.left?.jobs ?? 0
  const seconds = Math.max(1, tookMs / 1000)
  return [
    {
      name: 'plan and enqueue',
      told: `${shownNumber(run.enqueued)} enqueued${run.enqueuedAll ? ', all' : ', and it goes on'}`,
      isSlow: !run.enqueuedAll && waiting === 0,
    },
    {
      name: 'wait in the queue',
      told: `${shownNumber(waiting)} wait, ${shownNumber(delayed)} later; ${shownCount(quick?.workers ?? 0, 'worker')}`,
      isSlow: waiting > 0 && (quick?.workers ?? 0) === 0,
    },
    {
      name: 'wait for the budget',
      told: budget
        ? `${shownDecimal(budget.value.answersPerSecond)} of ${shownNumber(Math.round(budget.value.requestsPerSecond ?? 0))} requests a second${isPaused ? ', paused by upstream' : ''}`
        : '…',
      isSlow: isPaused || used > BUDGET_FULL,
    },
    {
      name: 'upstream answers',
      told: `${shownNumber(active)} jobs at work; it was reached in ${upstream?.value.tookMs ?? '…'} ms`,
      isSlow: upstream?.value.isReached === false || (active > 0 && waiting > 0),
    },
    {
      name: 'upstream derives',
      told: `${shownNumber(run.deriving)} of ${shownNumber(people)} people left wait for it`,
      isSlow: people > 0 && run.deriving === people,
    },
    {
      name: 'check and commit',
      told: `${shownDecimal(run.rowsRead / seconds)} rows read a second, ${shownDecimal(run.rowsWritten / seconds)} written`,
      isSlow: false,
    },
  ]
}
