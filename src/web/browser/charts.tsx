import { FittedSvg } from './fitted-svg.tsx'
import { datesApart } from './shown.ts'

/** Small charts as SVG, in the colours of the design system. Each has a text that says the same. */

/** Room for the numbers and dates beside a chart. */
const [TOP, LEFT, BOTTOM] = [8, 46, 24]
const HEIGHT = 150

/** Bounds that end in round numbers, and the round numbers between them. */
function ticksOf(values: readonly number[], fromZero: boolean): number[] {
  const min = fromZero ? 0 : Math.min(...values)
  const max = Math.max(...values, min + 1e-9)
  const rough = (max - min) / 3
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((n) => n * power).find((step) => step >= rough) ?? power
  const first = Math.floor(min / step)
  const last = Math.ceil(max / step)
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step)
}

type ChartProps = {
  readonly days: readonly string[]
  readonly series: ReadonlyArray<{ readonly name: string; readonly values: ReadonlyArray<number | null> }>
  readonly label: string
  /** The bars of several series lie upon one another. */
  readonly kind?: 'line' | 'bar'
  readonly fromZero?: boolean
  /** A band in which the person's own days usually lie. */
  readonly baseline?: { readonly from: number; readonly to: number } | undefined
}

/** A value as the text of a chart reads it. */
const readValue = (value: number | null | undefined): string =>
  value === null || value === undefined ? 'none' : value.toLocaleString('en', { maximumFractionDigits: 2 })

/** The columns of a chart by days, as `FittedSvg` reads them. */
const columnsOf = ({ days, series, height }: Pick<ChartProps, 'days' | 'series'> & { readonly height: number }) => ({
  count: days.length,
  boxOf(index: number, width: number) {
    const step = (width - LEFT) / days.length
    return { x: LEFT + index * step, y: 0, width: step, height: height - BOTTOM }
  },
  textOf: (index: number) =>
    `${days[index]}: ${series.map(({ name, values }) => `${series.length > 1 ? `${name} ` : ''}${readValue(values[index])}`).join(' · ')}`,
})

export function DayChart({ days, series, label, kind = 'line', fromZero = true, baseline }: ChartProps) {
  const all = series.flatMap(({ values }) => values.filter((value) => value !== null))
  if (all.length === 0) return <p class="quiet">No values in these days.</p>
  const tops = kind === 'line' ? all : days.map((_, index) => belowOf(series, series.length, index))
  const ticks = ticksOf([...tops, ...(baseline ? [baseline.from, baseline.to] : [])], fromZero)
  const [low = 0, high = 1] = [ticks[0], ticks.at(-1)]
  const y = (value: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - (value - low) / (high - low || 1))
  return (
    <figure>
      <FittedSvg height={HEIGHT} label={label} readings={columnsOf({ days, series, height: HEIGHT })}>
        {(width) => {
          const step = (width - LEFT) / days.length
          const x = (index: number) => LEFT + (index + 0.5) * step
          return (
            <>
              {baseline && <Band baseline={baseline} y={y} width={width} />}
              {ticks.map((tick) => (
                <Tick key={tick} value={tick} y={y(tick)} width={width} />
              ))}
              <Dates days={days} x={x} y={HEIGHT - 4} width={width} />
              {kind === 'bar' && <Bars series={series} x={x} y={y} width={step * 0.7} />}
              {kind === 'line' &&
                series.map(({ name, values }, index) => (
                  <Line key={name} values={values} x={x} y={y} colour={colourOf(index)} />
                ))}
            </>
          )
        }}
      </FittedSvg>
      {series.length > 1 && <Legend series={series} />}
    </figure>
  )
}

const Tick = ({ value, y, width }: { value: number; y: number; width: number }) => (
  <g>
    <line class="axis" x1={LEFT} x2={width} y1={y} y2={y} />
    <text x={LEFT - 6} y={y + 4} text-anchor="end">
      {Number(value.toPrecision(6)).toLocaleString('en')}
    </text>
  </g>
)

/** The height of a lane, and the part of it above which its name stands. */
const [LANE, LANE_TOP] = [58, 16]

/** Lines of one scale, each in a lane of its own, so that none covers another. */
export function LaneChart({ days, series, label }: Pick<ChartProps, 'days' | 'series' | 'label'>) {
  const all = series.flatMap(({ values }) => values.filter((value) => value !== null))
  if (all.length === 0) return <p class="quiet">No values in these days.</p>
  const [low, high] = [Math.min(...all), Math.max(...all)]
  const height = series.length * LANE + BOTTOM
  return (
    <FittedSvg height={height} label={label} readings={columnsOf({ days, series, height })}>
      {(width) => {
        const x = (index: number) => LEFT + (index + 0.5) * ((width - LEFT) / days.length)
        return (
          <>
            {series.map(({ name, values }, lane) => {
              const y = (value: number) =>
                lane * LANE + LANE_TOP + (LANE - LANE_TOP - 6) * (1 - (value - low) / (high - low || 1))
              return (
                <g key={name}>
                  <Tick value={Number(high.toFixed(2))} y={y(high)} width={width} />
                  <Tick value={Number(low.toFixed(2))} y={y(low)} width={width} />
                  <text class="lane" x={LEFT} y={lane * LANE + 11}>
                    {name}
                  </text>
                  <Line values={values} x={x} y={y} colour={colourOf(lane)} />
                </g>
              )
            })}
            <Dates days={days} x={x} y={height - 4} width={width} />
          </>
        )
      }}
    </FittedSvg>
  )
}

type BandProps = Required<Pick<ChartProps, 'baseline'>> & { y: (value: number) => number; width: number }

const Band = ({ baseline, y, width }: BandProps) =>
  baseline && (
    <rect
      class="baseline"
      x={LEFT}
      width={width - LEFT}
      y={y(baseline.to)}
      height={Math.max(1, y(baseline.from) - y(baseline.to))}
    />
  )

/** Half of a date's width: none is cut at the edge. */
const HALF_DATE = 17

type DatesProps = {
  days: readonly string[]
  x: (index: number) => number
  y: number
  width: number
}

function Dates({ days, x, y, width }: DatesProps) {
  const apart = datesApart(days.length, width - LEFT)
  return days.map((day, index) =>
    index % apart === Math.floor(apart / 2) && x(index) + HALF_DATE <= width ? (
      <text key={day} x={x(index)} y={y} text-anchor="middle">
        {day.slice(5)}
      </text>
    ) : null,
  )
}

const colourOf = (index: number): string => `var(--series-${(index % 5) + 1})`

type Drawn = {
  readonly values: ReadonlyArray<number | null>
  readonly x: (index: number) => number
  readonly y: (value: number) => number
}

/** A day without a value interrupts the line; a value alone is a dot. */
function Line({ values, x, y, colour }: Drawn & { colour: string }) {
  let path = ''
  let isDrawing = false
  for (const [index, value] of values.entries()) {
    if (value !== null)
      path += `${isDrawing ? 'L' : 'M'}${x(index).toFixed(1)},${y(value).toFixed(1)}${isDrawing ? '' : 'h0.01'}`
    isDrawing = value !== null
  }
  return (
    <path d={path} fill="none" stroke={colour} stroke-width="1.75" stroke-linejoin="round" stroke-linecap="round" />
  )
}

/** The sum of the series before a place, on one day: the foot of its bar. */
const belowOf = (series: ChartProps['series'], place: number, index: number): number =>
  series.slice(0, place).reduce((sum, { values }) => sum + (values[index] ?? 0), 0)

function Bars({ series, x, y, width }: Pick<ChartProps, 'series'> & Omit<Drawn, 'values'> & { width: number }) {
  return series.map(({ name, values }, place) =>
    values.map((value, index) => {
      if (value === null) return null
      const foot = belowOf(series, place, index)
      const top = y(foot + value)
      return (
        <rect
          key={`${name} ${index}`}
          x={x(index) - width / 2}
          y={top}
          width={width}
          height={Math.max(0, y(foot) - top)}
          rx={series.length === 1 ? 1 : 0}
          fill={colourOf(place)}
        />
      )
    }),
  )
}

const Legend = ({ series }: Pick<ChartProps, 'series'>) => (
  <figcaption class="legend">
    {series.map(({ name }, index) => (
      <span key={name}>
        <i class="swatch" style={{ background: colourOf(index) }} />
        {name}
      </span>
    ))}
  </figcaption>
)
