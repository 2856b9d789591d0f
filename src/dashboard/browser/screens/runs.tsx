import { act, type Json, useAnswer } from '../../../web/browser/ask.ts'
import { nowMs } from '../../../web/browser/live-state.ts'
import { Action, Answered, Empty, Link, Panel, Table, Tag, Text } from '../../../web/browser/parts.tsx'
import { shownAge, shownDecimal, shownInstant, shownNumber, shownSpan } from '../../../web/browser/shown.ts'
import type { RunAnswer, RunsAnswer } from '../../routes/run-routes.ts'
import { runTones } from '../run-tones.ts'
import { mayAct } from '../session.ts'

type Run = Json<RunsAnswer>[number]
const tookMsOf = ({ startedAt, endedAt }: Pick<Run, 'startedAt' | 'endedAt'>) =>
  (endedAt ? Date.parse(endedAt) : nowMs.value) - Date.parse(startedAt)

const COMPARED_RUNS = 14

/** Slots and commands on a line of time, each beside the fourteen of its kind before it. */
export function RunsScreen({ params: { id } }: { params: Readonly<Record<string, string>> }) {
  const { answer, again } = useAnswer<RunsAnswer>('runs')
  return (
    <>
      <h1 class="head">Runs</h1>
      {id && <RunOf key={id} runId={id} againAll={again} />}
      <Answered answer={answer} again={again}>
        {(runs) =>
          runs.length === 0 ? (
            <Panel title="Latest">
              <Empty>No run yet. The next tick starts one; at once: vitalsync sync</Empty>
            </Panel>
          ) : (
            <Runs runs={runs} />
          )
        }
      </Answered>
    </>
  )
}

function Runs({ runs }: { runs: readonly Run[] }) {
  const longest = Math.max(1, ...runs.map(tookMsOf))
  const head = [
    'run',
    'state',
    'begun',
    'took',
    '',
    'beside the last 14',
    'people',
    'failed',
    'refused',
    'requests',
    'rows',
  ]
  return (
    <Panel title="Latest" flush>
      <Table head={head} numbers={['took', 'people', 'failed', 'refused', 'requests', 'rows']} label="Runs">
        {runs.map((run, index) => (
          <tr key={run.id}>
            <td>
              <Link to={`/runs/${run.id}`}>
                {run.kind} {run.id}
              </Link>
            </td>
            <td>
              <Tag tone={runTones[run.state]}>{run.state}</Tag>
            </td>
            <td class="time">{shownInstant(run.startedAt)}</td>
            <td class="number">{shownSpan(tookMsOf(run))}</td>
            <td>
              <span class="bar" aria-hidden="true">
                <span style={{ width: `${Math.max(1, (tookMsOf(run) / longest) * 100)}%` }} />
              </span>
            </td>
            <td>{besideFormer(run, runs.slice(index + 1))}</td>
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

/** How long a run took, beside the median of the fourteen of its kind before it. */
function besideFormer(run: Run, older: readonly Run[]): string {
  const former = older.filter(({ kind, state }) => kind === run.kind && state === 'done').slice(0, COMPARED_RUNS)
  if (former.length < 3) return ''
  const median = former.map(tookMsOf).toSorted((a, b) => a - b)[Math.floor(former.length / 2)] ?? 0
  const ratio = tookMsOf(run) / Math.max(1, median)
  if (ratio > 1.5) return `${shownDecimal(ratio)} × as long`
  return ratio < 0.67 ? `${shownDecimal(ratio)} × as long` : 'as usual'
}

function RunOf({ runId, againAll }: { runId: string; againAll: () => void }) {
  const { answer, again } = useAnswer<RunAnswer>('run', { runId })
  const after = () => {
    again()
    againAll()
  }
  return (
    <Answered answer={answer} again={again}>
      {(run) => (
        <Panel title={`${run.kind} ${run.id}`} aside={mayAct.value && <RunActions run={run} after={after} />}>
          <div class="stack">
            <dl class="figures">
              {factsOf(run).map(([name, value]) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd>{value}</dd>
                </div>
              ))}
            </dl>
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
      command="Ctrl-C in the command that began it"
      confirm="Jobs that wait are given up. What was read stays."
      run={stop}
      after={after}
    />
  ) : (
    <Action
      label="Go on"
      command={run.kind === 'backfill' ? 'vitalsync backfill --from …' : 'vitalsync sync'}
      run={goOn}
      after={after}
    />
  )
}

function Failing({ run: { failures } }: { run: OneRun }) {
  if (failures.length === 0) return <p class="quiet">Nobody failed in this time.</p>
  return (
    <Table head={['person', 'of', 'at', 'reason']} label="People who failed in this time">
      {failures.map((one) => (
        <tr key={one.id}>
          <td>
            <Link to={`/people/${one.profileId}`}>
              <Text max={60}>{one.name}</Text>
            </Link>
          </td>
          <td>{one.subject}</td>
          <td class="time">{shownInstant(one.lastAt)}</td>
          <td>
            <Text max={160}>{one.reason}</Text>
          </td>
        </tr>
      ))}
    </Table>
  )
}
