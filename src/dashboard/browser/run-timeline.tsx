import { goTo, hrefOf } from '../../web/browser/address.ts'
import { shownSpan } from '../../web/browser/shown.ts'

type TimedRun = {
  readonly id: string
  readonly kind: string
  readonly state: string
  readonly startedAt: string
  readonly endedAt: string | null
}

const [WIDTH, LEFT, ROW] = [1000, 74, 20]
const TICKS = 5

const colours: Readonly<Record<string, string>> = {
  running: 'var(--accent)',
  done: 'var(--day-data)',
  stopped: 'var(--day-refused)',
  failed: 'var(--bad)',
}

/** Runs on a line of time, a row for each kind. The table below has the same runs as links. */
export function RunTimeline({ runs, nowMs }: { runs: readonly TimedRun[]; nowMs: number }) {
  const kinds = [...new Set(runs.map(({ kind }) => kind))].toSorted()
  const fromMs = Math.min(...runs.map(({ startedAt }) => Date.parse(startedAt)))
  const x = (ms: number) => LEFT + ((ms - fromMs) / Math.max(1, nowMs - fromMs)) * (WIDTH - LEFT - 4)
  const height = kinds.length * ROW + 20
  const label = `${runs.length} runs of ${shownSpan(nowMs - fromMs)}`
  return (
    <nav aria-label={label}>
      <svg viewBox={`0 0 ${WIDTH} ${height}`} width="100%" class="timeline">
        <title>{label}</title>
        {Array.from({ length: TICKS }, (_, index) => fromMs + ((nowMs - fromMs) * index) / (TICKS - 1)).map(
          (ms, index) => (
            <g key={ms}>
              <line class="axis" x1={x(ms)} x2={x(ms)} y1="0" y2={height - 18} />
              <text
                x={x(ms)}
                y={height - 4}
                text-anchor={index === 0 ? 'start' : index === TICKS - 1 ? 'end' : 'middle'}
              >
                {new Date(ms).toISOString().slice(5, 16).replace('T', ' ')}
              </text>
            </g>
          ),
        )}
        {kinds.map((kind, index) => (
          <text key={kind} x="0" y={index * ROW + 14}>
            {kind}
          </text>
        ))}
        {runs.map((run) => {
          const [startMs, endMs] = [Date.parse(run.startedAt), run.endedAt ? Date.parse(run.endedAt) : nowMs]
          const told = `${run.kind} ${run.id}, ${run.state}, ${shownSpan(endMs - startMs)}`
          return (
            <a
              key={run.id}
              aria-label={told}
              href={hrefOf(`/runs/${run.id}`)}
              tabIndex={-1}
              onClick={(event) => follow(event, run.id)}
            >
              <rect
                x={x(startMs)}
                y={kinds.indexOf(run.kind) * ROW + 3}
                width={Math.max(3, x(endMs) - x(startMs))}
                height={ROW - 6}
                rx="2"
                fill={colours[run.state]}
              >
                <title>{told}</title>
              </rect>
            </a>
          )
        })}
      </svg>
    </nav>
  )
}

function follow(event: MouseEvent, runId: string): void {
  event.preventDefault()
  goTo(`/runs/${runId}`)
}
