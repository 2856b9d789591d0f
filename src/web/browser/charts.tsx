/** Small charts as SVG, in the colours of the design system. Each has a text that says the same. */

type Series = { readonly name: string; readonly values: ReadonlyArray<number | null> }

const WIDTH = 640
const LEFT = 46
const BOTTOM = 18

/** Bounds that end in round numbers, and the round numbers between them. */
function ticksOf(values: readonly number[], fromZero: boolean): number[] {
  const min = fromZero ? 0 : Math.min(...values)
  const max = Math.max(...values, min + 1e-9)
  const rough = (max - min) / 3
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((n) => n * power).find((one) => one >= rough) ?? power
  const first = Math.floor(min / step)
  const last = Math.ceil(max / step)
  return Array.from({ length: last - first + 1 }, (_, index) => (first + index) * step)
}

type ChartProps = {
  readonly days: readonly string[]
  readonly series: readonly Series[]
  readonly label: string
  readonly kind?: 'line' | 'bar'
  readonly fromZero?: boolean
  /** A band in which the person's own days usually lie. */
  readonly baseline?: { readonly from: number; readonly to: number } | undefined
  readonly height?: number
}

export function DayChart({ days, series, label, kind = 'line', fromZero = true, baseline, height = 150 }: ChartProps) {
  const all = series.flatMap(({ values }) => values.filter((value) => value !== null))
  if (all.length === 0) return <p class="quiet">No values in these days.</p>
  const ticks = ticksOf([...all, ...(baseline ? [baseline.from, baseline.to] : [])], fromZero)
  const [low = 0, high = 1] = [ticks[0], ticks.at(-1)]
  const x = (index: number) => LEFT + ((index + 0.5) * (WIDTH - LEFT)) / days.length
  const y = (value: number) => (height - BOTTOM) * (1 - (value - low) / (high - low || 1)) + 4
  return (
    <figure>
      <svg viewBox={`0 0 ${WIDTH} ${height + 4}`} role="img" aria-label={label} width="100%">
        {baseline && (
          <rect
            class="baseline"
            x={LEFT}
            width={WIDTH - LEFT}
            y={y(baseline.to)}
            height={Math.max(1, y(baseline.from) - y(baseline.to))}
          />
        )}
        {ticks.map((tick) => (
          <g key={tick}>
            <line class="axis" x1={LEFT} x2={WIDTH} y1={y(tick)} y2={y(tick)} />
            <text x={LEFT - 6} y={y(tick) + 4} text-anchor="end">
              {Number(tick.toPrecision(6)).toLocaleString('en')}
            </text>
          </g>
        ))}
        {days.map((day, index) =>
          index % Math.ceil(days.length / 6) === 0 ? (
            <text key={day} x={x(index)} y={height} text-anchor="middle">
              {day.slice(5)}
            </text>
          ) : null,
        )}
        {series.map(({ name, values }, index) =>
          kind === 'line' ? (
            <Line key={name} values={values} x={x} y={y} colour={colourOf(index)} />
          ) : (
            <Bars key={name} values={values} x={x} y={y} zero={y(low)} width={((WIDTH - LEFT) / days.length) * 0.7} />
          ),
        )}
      </svg>
      {series.length > 1 && <Legend series={series} />}
    </figure>
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

function Bars({ values, x, y, zero, width }: Drawn & { zero: number; width: number }) {
  return (
    <>
      {values.map((value, index) =>
        value === null ? null : (
          <rect
            key={x(index)}
            x={x(index) - width / 2}
            y={y(value)}
            width={width}
            height={Math.max(0, zero - y(value))}
            rx="1"
            fill="var(--series-1)"
          />
        ),
      )}
    </>
  )
}

/** Bars of parts that lie upon one another. */
export function StackChart({
  days,
  series,
  label,
  height = 150,
}: Pick<ChartProps, 'days' | 'series' | 'label' | 'height'>) {
  const sums = days.map((_, index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0))
  const scale = (height - BOTTOM) / Math.max(1, ...sums)
  const step = (WIDTH - LEFT) / Math.max(1, days.length)
  return (
    <figure>
      <svg viewBox={`0 0 ${WIDTH} ${height + 4}`} role="img" aria-label={label} width="100%">
        {days.map((day, index) => {
          let top = height - BOTTOM + 4
          return (
            <g key={day}>
              {index % Math.ceil(days.length / 6) === 0 && (
                <text x={LEFT + (index + 0.5) * step} y={height + 2} text-anchor="middle">
                  {day.slice(5)}
                </text>
              )}
              {series.map(({ name, values }, place) => {
                const part = (values[index] ?? 0) * scale
                top -= part
                const x = LEFT + (index + 0.15) * step
                return <rect key={name} x={x} y={top} width={step * 0.7} height={part} fill={colourOf(place)} />
              })}
            </g>
          )
        })}
        <text x={LEFT - 6} y="12" text-anchor="end">
          {Math.round(Math.max(...sums))}
        </text>
      </svg>
      <Legend series={series} />
    </figure>
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

/** A value, as a dot, among those that it is compared with, as lines. */
export function MarkScale({ value, references }: { value: number; references: readonly number[] }) {
  const all = [value, ...references]
  const [min, max] = [Math.min(...all), Math.max(...all)]
  const x = (one: number) => 6 + ((one - min) / (max - min || 1)) * 68
  return (
    <svg width="80" height="18" aria-hidden="true">
      <line class="axis" x1="2" x2="78" y1="9" y2="9" />
      {references.map((one, index) => (
        <line key={index} x1={x(one)} x2={x(one)} y1="3" y2="15" stroke="var(--quiet)" stroke-width="2" />
      ))}
      <circle cx={x(value)} cy="9" r="4" fill="var(--series-1)" />
    </svg>
  )
}

/** A few values in a line of text. */
export function Spark({ values }: { values: readonly number[] }) {
  const [min, max] = [Math.min(...values), Math.max(...values)]
  const points = values.map((value, index) => {
    const x = 2 + (index * 56) / Math.max(1, values.length - 1)
    return `${x.toFixed(1)},${(16 - ((value - min) / (max - min || 1)) * 13).toFixed(1)}`
  })
  return (
    <svg width="60" height="18" aria-hidden="true">
      <polyline
        points={points.join(' ')}
        fill="none"
        stroke="var(--series-1)"
        stroke-width="1.5"
        stroke-linejoin="round"
      />
    </svg>
  )
}

const NIGHT_HOURS = 20

/** Nights below one another, from 18:00 to 14:00: regular sleep is a straight band. */
export function NightRaster({ nights }: { nights: ReadonlyArray<{ day: string; from: number; to: number }> }) {
  const row = 9
  const x = (hours: number) => 44 + (Math.max(0, Math.min(NIGHT_HOURS, hours)) * (WIDTH - 66)) / NIGHT_HOURS
  const height = nights.length * row + 22
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${height}`}
      role="img"
      width="100%"
      aria-label={`${nights.length} nights, from 18:00 to 14:00 by the person's clock`}
    >
      {[0, 4, 8, 12, 16, 20].map((hour) => (
        <g key={hour}>
          <line class="axis" x1={x(hour)} x2={x(hour)} y1="0" y2={height - 16} />
          <text x={x(hour)} y={height - 3} text-anchor="middle">
            {String((18 + hour) % 24).padStart(2, '0')}:00
          </text>
        </g>
      ))}
      {nights.map(({ day, from, to }, index) => (
        <g key={day}>
          {index % 7 === 0 && (
            <text x="0" y={index * row + 9}>
              {day.slice(5)}
            </text>
          )}
          <rect
            x={x(from)}
            y={index * row + 2}
            width={Math.max(1, x(to) - x(from))}
            height={row - 2}
            rx="2"
            fill="var(--series-4)"
          />
        </g>
      ))}
    </svg>
  )
}

/** Parts that add up to a whole, one below the other. */
export function Waterfall({
  parts,
  label,
}: {
  parts: ReadonlyArray<{ name: string; amount: number; note: string }>
  label: string
}) {
  const row = 24
  const whole = Math.max(
    1e-9,
    parts.reduce((sum, { amount }) => sum + amount, 0),
  )
  const scale = (WIDTH - 330) / Math.max(1, whole)
  let before = 0
  return (
    <svg viewBox={`0 0 ${WIDTH} ${parts.length * row + 4}`} role="img" aria-label={label} width="100%">
      {parts.map(({ name, amount, note }, index) => {
        const from = before
        before += amount
        return (
          <g key={name}>
            <text x="0" y={index * row + 16}>
              {name}
            </text>
            <rect
              x={150 + from * scale}
              y={index * row + 5}
              width={Math.max(1, amount * scale)}
              height={row - 9}
              rx="2"
              fill="var(--series-3)"
            />
            <text x={156 + (from + amount) * scale} y={index * row + 16}>
              {note}
            </text>
          </g>
        )
      })}
    </svg>
  )
}
