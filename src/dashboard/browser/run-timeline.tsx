import { type Signal, useSignal } from '@preact/signals'
import { goTo, hrefOf } from '../../web/browser/address.ts'
import { FittedSvg } from '../../web/browser/fitted-svg.tsx'
import { stepOnArrow } from '../../web/browser/parts.tsx'
import { shownInstant, shownSpan } from '../../web/browser/shown.ts'

type TimedRun = {
  readonly id: string
  readonly kind: string
  readonly state: string
  readonly startedAt: string
  readonly endedAt: string | null
}

const [LEFT, ROW] = [74, 20]
/** A date with its time, and the room beside it. */
const TICK_WIDTH = 110

const colours: Readonly<Record<string, string>> = {
  running: 'var(--accent)',
  done: 'var(--day-data)',
  stopped: 'var(--day-refused)',
  failed: 'var(--bad)',
}

/** Runs on a line of time, a row for each kind. The arrow keys go from run to run; the table below has the same runs as links. */
export function RunTimeline({ runs, nowMs }: { runs: readonly TimedRun[]; nowMs: number }) {
  const kinds = [...new Set(runs.map(({ kind }) => kind))].toSorted()
  const fromMs = Math.min(...runs.map(({ startedAt }) => Date.parse(startedAt)))
  const height = kinds.length * ROW + 20
  const label = `${runs.length} runs of ${shownSpan(nowMs - fromMs)}`
  const read = useSignal('')
  return (
    <nav aria-label={label}>
      <FittedSvg height={height} class="timeline" role="group" label="Runs on a line of time">
        {(width) => {
          const x = (ms: number) => LEFT + ((ms - fromMs) / Math.max(1, nowMs - fromMs)) * (width - LEFT - 4)
          return (
            <>
              <Ticks
                fromMs={fromMs}
                toMs={nowMs}
                x={x}
                height={height}
                count={Math.floor((width - LEFT) / TICK_WIDTH)}
              />
              {kinds.map((kind, index) => (
                <text key={kind} x="0" y={index * ROW + 14}>
                  {kind}
                </text>
              ))}
              <g>
                {runs.map((run, index) => (
                  <RunBar
                    key={run.id}
                    run={run}
                    isFirst={index === 0}
                    nowMs={nowMs}
                    x={x}
                    y={kinds.indexOf(run.kind) * ROW + 3}
                    read={read}
                  />
                ))}
              </g>
            </>
          )
        }}
      </FittedSvg>
      <p class="small quiet value">{read.value}</p>
    </nav>
  )
}

type Placed = { readonly x: (ms: number) => number }

function Ticks({ fromMs, toMs, x, height, count }: Placed & Record<'fromMs' | 'toMs' | 'height' | 'count', number>) {
  const last = Math.max(1, Math.min(5, count) - 1)
  return Array.from({ length: last + 1 }, (_, index) => fromMs + ((toMs - fromMs) * index) / last).map((ms, index) => (
    <g key={index}>
      <line class="axis" x1={x(ms)} x2={x(ms)} y1="0" y2={height - 18} />
      <text x={x(ms)} y={height - 4} text-anchor={index === 0 ? 'start' : index === last ? 'end' : 'middle'}>
        {shownInstant(new Date(ms).toISOString()).slice(5)}
      </text>
    </g>
  ))
}

type BarProps = Placed & {
  readonly run: TimedRun
  readonly isFirst: boolean
  readonly nowMs: number
  readonly y: number
  readonly read: Signal<string>
}

function RunBar({ run, isFirst, nowMs, x, y, read }: BarProps) {
  const [startMs, endMs] = [Date.parse(run.startedAt), run.endedAt ? Date.parse(run.endedAt) : nowMs]
  const text = `${run.kind} ${run.id}, ${run.state}, ${shownInstant(run.startedAt)}, ${shownSpan(endMs - startMs)}`
  const show = () => {
    read.value = text
  }
  return (
    <a
      aria-label={text}
      href={hrefOf(`/runs/${run.id}`)}
      tabIndex={isFirst ? 0 : -1}
      onClick={(event) => follow(event, run.id)}
      onFocus={show}
      onPointerEnter={show}
      onKeyDown={stepOnArrow}
    >
      <rect
        x={x(startMs)}
        y={y}
        width={Math.max(3, x(endMs) - x(startMs))}
        height={ROW - 6}
        rx="2"
        fill={colours[run.state]}
      />
    </a>
  )
}

function follow(event: MouseEvent, runId: string): void {
  event.preventDefault()
  goTo(`/runs/${runId}`)
}
