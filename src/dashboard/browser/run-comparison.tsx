import type { Json } from '../../web/browser/ask.ts'
import { FittedSvg } from '../../web/browser/fitted-svg.tsx'
import { Table } from '../../web/browser/parts.tsx'
import { shownDecimal, shownNumber, shownSpan } from '../../web/browser/shown.ts'
import type { RunAnswer } from '../routes/run-routes.ts'

/** Beyond these multiples of the usual value a value is marked as unusual. */
const [ODD_BELOW, ODD_ABOVE] = [0.67, 1.5]

/** How long something took, beside the usual duration. */
export function besideUsual(value: number, usual: number): string {
  const ratio = value / Math.max(1, usual)
  return ratio > ODD_ABOVE || ratio < ODD_BELOW ? `${shownDecimal(ratio)} × the usual` : 'as usual'
}

type Compared = Pick<Json<RunAnswer>['former'][number], 'tookMs' | 'people' | 'requests' | 'rowsRead' | 'rowsWritten'>

/** Where a run is slower than those before it, one of these says why: more people, more requests for each, or slower requests. */
const measures: ReadonlyArray<readonly [string, (run: Compared) => number, (value: number) => string]> = [
  ['took', ({ tookMs }) => tookMs, shownSpan],
  ['people', ({ people }) => people, shownNumber],
  ['requests a person', ({ requests, people }) => requests / Math.max(1, people), (value) => shownDecimal(value)],
  [
    'requests a second',
    ({ requests, tookMs }) => requests / Math.max(0.001, tookMs / 1000),
    (value) => shownDecimal(value),
  ],
  ['rows a request', ({ rowsRead, requests }) => rowsRead / Math.max(1, requests), (value) => shownDecimal(value)],
  ['rows written', ({ rowsWritten }) => rowsWritten, shownNumber],
]

const COMPARED_MIN = 3

/** A run beside the median of the fourteen of its kind before it, and how long each of them took. */
export function BesideFormer({ run, tookMs }: { run: Json<RunAnswer>; tookMs: number }) {
  const { former } = run
  if (former.length < COMPARED_MIN)
    return <p class="quiet">Fewer than three runs of its kind came before it: nothing to compare.</p>
  const compared: Compared = { ...run, tookMs, people: run.done }
  return (
    <div class="grid two">
      <Table
        head={['', 'this run', `the last ${former.length}, median`, 'beside them']}
        numbers={['this run']}
        label="Beside former runs"
      >
        {measures.map(([name, measure, shown]) => {
          const [value, usual] = [measure(compared), medianOf(former.map(measure))]
          const isOdd = run.state !== 'running' && (value > ODD_ABOVE * usual || value < ODD_BELOW * usual)
          return (
            <tr key={name}>
              <td>{name}</td>
              <td class="number">{shown(value)}</td>
              <td>{shown(usual)}</td>
              <td class={isOdd ? 'tone-odd' : ''}>{usual > 0 && `${shownDecimal(value / usual)} ×`}</td>
            </tr>
          )
        })}
      </Table>
      <FormerSpans spans={[...former.map((run) => run.tookMs).reverse(), tookMs]} />
    </div>
  )
}

const medianOf = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

const [HEIGHT, TOP, BOTTOM] = [132, 18, 18]

/** How long each took, the oldest first; this run is the last. */
function FormerSpans({ spans }: { spans: readonly number[] }) {
  const longest = Math.max(1, ...spans)
  const foot = HEIGHT - BOTTOM
  const readings = {
    count: spans.length,
    boxOf(index: number, width: number) {
      const step = width / spans.length
      return { x: index * step, y: TOP, width: step, height: foot - TOP }
    },
    textOf: (index: number) =>
      `${index === spans.length - 1 ? 'this run' : `${spans.length - 1 - index} before it`}: ${shownSpan(spans[index] ?? 0)}`,
  }
  return (
    <FittedSvg height={HEIGHT} label={`How long the last ${spans.length} took`} readings={readings}>
      {(width) => {
        const step = width / spans.length
        return (
          <>
            <text x="0" y="11">
              the longest took {shownSpan(longest)}
            </text>
            {spans.map((span, index) => {
              const height = Math.max(1, (span / longest) * (foot - TOP))
              const fill = index === spans.length - 1 ? 'var(--series-2)' : 'var(--series-1)'
              return (
                <rect
                  key={index}
                  x={index * step + 1}
                  y={foot - height}
                  width={step - 3}
                  height={height}
                  rx="2"
                  fill={fill}
                />
              )
            })}
            <text x="0" y={HEIGHT - 4}>
              oldest
            </text>
            <text x={width} y={HEIGHT - 4} text-anchor="end">
              this run
            </text>
          </>
        )
      }}
    </FittedSvg>
  )
}
