import { address, changeQuery } from '../../../web/browser/address.ts'
import { act, type Json, useAnswer } from '../../../web/browser/ask.ts'
import { LabelledSelect } from '../../../web/browser/inputs.tsx'
import { nowMs } from '../../../web/browser/live-state.ts'
import { Action, Answered, Empty, Panel, Table, Text } from '../../../web/browser/parts.tsx'
import {
  shownAge,
  shownCount,
  shownDecimal,
  shownInstant,
  shownNumber,
  shownSpan,
  shownZone,
} from '../../../web/browser/shown.ts'
import { Figures } from '../../../web/browser/small-charts.tsx'
import type { RunAnswer, RunsAnswer } from '../../routes/run-routes.ts'
import { followed, type LiveNow, live, mayAct } from '../dashboard-state.ts'
import { PersonLink, RunLink } from '../links.tsx'
import { BesideFormer, besideUsual } from '../run-comparison.tsx'
import { RunTimeline } from '../run-timeline.tsx'

type RunRow = Json<RunsAnswer>[number]
const tookMsOf = ({ startedAt, endedAt }: Pick<RunRow, 'startedAt' | 'endedAt'>) =>
  (endedAt ? Date.parse(endedAt) : nowMs.value) - Date.parse(startedAt)

const kinds = [['', 'all'], 'nightly', 'sweep', 'sync', 'backfill', 'sentinel'] as const

/** Slots and commands on a line of time, each beside the fourteen of its kind before it. */
export function RunsScreen({ params: { id } }: { params: Readonly<Record<string, string>> }) {
  const kind = address.value.query.get('kind') ?? ''
  const { answer, again } = useAnswer<RunsAnswer>('runs', kind === '' ? {} : { kind }, {
    follow: followed((now) => now.runs),
  })
  return (
    <>
      <h1 class="head">Runs</h1>
      {id && <RunOf key={id} runId={id} againAll={again} />}
      <LabelledSelect label="Kind" value={kind} options={kinds} choose={(chosen) => changeQuery({ kind: chosen })} />
      <Answered answer={answer} again={again}>
        {(runs) =>
          runs.length === 0 ? (
            <Panel title="Latest">
              <Empty>No run yet. The next tick starts one; at once: vitalsync sync</Empty>
            </Panel>
          ) : (
            <>
              <Panel title="Slots and commands" note={`${shownZone()}; a bar leads to its run`}>
                <RunTimeline runs={runs} nowMs={nowMs.value} />
              </Panel>
              <Runs runs={runs} />
            </>
          )
        }
      </Answered>
    </>
  )
}

function Runs({ runs }: { runs: readonly RunRow[] }) {
  const head = ['run', 'begun', 'took', 'beside the last 14', 'people', 'failed', 'refused', 'requests', 'rows']
  return (
    <Panel title="Latest" flush>
      <Table head={head} numbers={['took', 'people', 'failed', 'refused', 'requests', 'rows']} label="Runs">
        {runs.map((run) => (
          <tr key={run.id}>
            <td>
              <RunLink run={run} />
            </td>
            <td class="time">{shownInstant(run.startedAt)}</td>
            <td class="number">{shownSpan(tookMsOf(run))}</td>
            <td>{run.usualMs !== null && run.done > 0 && besideUsual(tookMsOf(run), run.usualMs)}</td>
            <td class="number">{shownNumber(run.done)}</td>
            <td class={`number ${run.failed > 0 ? 'tone-bad' : ''}`}>{shownNumber(run.failed)}</td>
            <td class={`number ${run.refused > 0 ? 'tone-odd' : ''}`}>{shownNumber(run.refused)}</td>
            <td class="number">{shownNumber(run.requests)}</td>
            <td class="number">{shownNumber(run.rowsWritten)}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}

function RunOf({ runId, againAll }: { runId: string; againAll: () => void }) {
  const { answer, again } = useAnswer<RunAnswer>(
    'run',
    { runId },
    { follow: followed((now) => [now.runs, now.quick?.queue]) },
  )
  const after = () => {
    again()
    againAll()
  }
  return (
    <Answered answer={answer} again={again}>
      {(run) => (
        <Panel title={`${run.kind} ${run.id}`} aside={mayAct.value && <RunActions run={run} after={after} />}>
          <div class="stack">
            <Figures facts={factsOf(run)} />
            {run.state === 'running' && <RunStages run={run} tookMs={tookMsOf(run)} />}
            <BesideFormer run={run} tookMs={tookMsOf(run)} />
            <Failing run={run} />
          </div>
        </Panel>
      )}
    </Answered>
  )
}

type OneRun = Json<RunAnswer>

function factsOf(run: OneRun): ReadonlyArray<readonly [string, string]> {
  const seconds = Math.max(1, tookMsOf(run) / 1000)
  const leftMs = run.left && run.done > 0 ? (tookMsOf(run) / run.done) * run.left.jobs : undefined
  return [
    ['State', run.state],
    ['Begun', shownAge(run.startedAt, nowMs.value)],
    ['Took', shownSpan(tookMsOf(run))],
    ['People done', shownNumber(run.done)],
    ...(run.left
      ? ([
          ['Left', `${shownNumber(run.left.jobs)}${leftMs === undefined ? '' : `, about ${shownSpan(leftMs)}`}`],
        ] as const)
      : []),
    ['Requests a second', shownDecimal(run.requests / seconds)],
    ['Answered “unchanged”', shownNumber(run.unchanged)],
    ['Rows read', shownNumber(run.rowsRead)],
    ['Rows written', shownNumber(run.rowsWritten)],
    ['Items pushed', shownNumber(run.itemsPushed)],
  ]
}

function RunActions({ run, after }: { run: OneRun; after: () => void }) {
  const stop = async () => {
    await act('run/stop', { runId: run.id })
    return 'Stopped: jobs that have begun end, no other begins.'
  }
  const goOn = async () => {
    const { runId } = await act<{ runId: string }>('run/go-on', { runId: run.id })
    return `Run ${runId} goes on with it: what is covered is not read again.`
  }
  return run.state === 'running' ? (
    <Action
      label="Stop"
      tone="danger"
      command={`vitalsync runs stop ${run.id}`}
      confirm="Jobs that wait are given up. What was read stays."
      run={stop}
      after={after}
    />
  ) : (
    <Action label="Go on" command={run.command} run={goOn} after={after} />
  )
}

function Failing({ run: { failures, failed } }: { run: OneRun }) {
  if (failures.length === 0 && failed > 0)
    return <p class="quiet">{shownCount(failed, 'job')} failed: each was done later, or was discarded.</p>
  if (failures.length === 0) return <p class="quiet">Nobody failed in this time.</p>
  return (
    <Table head={['person', 'of', 'at', 'reason']} label="People who failed in this time">
      {failures.map((failure) => (
        <tr key={failure.id}>
          <td>
            <PersonLink profileId={failure.profileId} name={failure.name} />
          </td>
          <td>{failure.subject}</td>
          <td class="time">{shownInstant(failure.lastAt)}</td>
          <td class="wide">
            <Text max={160}>{failure.reason}</Text>
          </td>
        </tr>
      ))}
    </Table>
  )
}

type Stage = { readonly name: string; readonly told: string; readonly isSlow: boolean }

/** Nearly all of the budget is used: requests wait for it. */
const BUDGET_FULL = 0.9

/** The stages of a run that is under way, in the order in which work goes through them. The first that holds the others up is marked. */
function RunStages({ run, tookMs }: { run: OneRun; tookMs: number }) {
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
