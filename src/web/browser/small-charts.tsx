import { FittedSvg } from './fitted-svg.tsx'

/** Drawings of nights, of the parts of a whole, and of a value within a line of text. */

/** Farther from the baseline than this share of it is drawn at the edge. */
const FARTHEST = 0.5

/** A value, as a dot, beside the baseline in the middle; other references are lines. One scale for all: the share of the baseline. */
export function MarkScale({ value, references }: { value: number; references: readonly number[] }) {
  const [baseline = value] = references
  const x = (value: number) => {
    const share = (value - baseline) / (Math.abs(baseline) || 1)
    return 40 + (Math.max(-FARTHEST, Math.min(FARTHEST, share)) / FARTHEST) * 34
  }
  return (
    <svg width="80" height="18" aria-hidden="true">
      <line class="axis" x1="2" x2="78" y1="9" y2="9" />
      {references.map((reference, index) => (
        <line
          key={index}
          x1={x(reference)}
          x2={x(reference)}
          y1={index === 0 ? 2 : 5}
          y2={index === 0 ? 16 : 13}
          stroke="var(--quiet)"
          stroke-width="2"
        />
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
const [NIGHT_LEFT, NIGHT_RIGHT, NIGHT_ROW] = [44, 22, 9]

/** `23:40`, of the hours since 18:00. */
function clockOf(hours: number): string {
  const minutes = Math.round((hours + 18) * 60) % (24 * 60)
  return `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`
}

/** Nights below one another, from 18:00 to 14:00: regular sleep is a straight band. */
export function NightRaster({ nights }: { nights: ReadonlyArray<{ day: string; from: number; to: number }> }) {
  const height = nights.length * NIGHT_ROW + 22
  const readings = {
    count: nights.length,
    newest: 0,
    boxOf: (index: number, width: number) => ({ x: 0, y: index * NIGHT_ROW, width, height: NIGHT_ROW }),
    textOf(index: number) {
      const { day = '', from = 0, to = 0 } = nights[index] ?? {}
      return `${day}: ${clockOf(from)} to ${clockOf(to)}, ${(to - from).toFixed(1)} h`
    },
  }
  const label = `${nights.length} nights, from 18:00 to 14:00 by the person's clock`
  return (
    <FittedSvg height={height} label={label} readings={readings}>
      {(width) => {
        const x = (hours: number) =>
          NIGHT_LEFT + (Math.max(0, Math.min(NIGHT_HOURS, hours)) * (width - NIGHT_LEFT - NIGHT_RIGHT)) / NIGHT_HOURS
        return (
          <>
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
                  <text x="0" y={index * NIGHT_ROW + 9}>
                    {day.slice(5)}
                  </text>
                )}
                <rect
                  x={x(from)}
                  y={index * NIGHT_ROW + 2}
                  width={Math.max(1, x(to) - x(from))}
                  height={NIGHT_ROW - 2}
                  rx="2"
                  fill="var(--series-4)"
                />
              </g>
            ))}
          </>
        )
      }}
    </FittedSvg>
  )
}

type WaterfallStep = { readonly name: string; readonly amount: number; readonly note: string }

/** Beside the bars there is room for the names and the notes from this width on; below it they stand above their bar. */
const WIDE_FROM = 560
const [NAMES, NOTES] = [160, 200]

/** Parts that add up to a whole, one below the other, each with its value. */
export function Waterfall({ parts, label }: { parts: readonly WaterfallStep[]; label: string }) {
  const whole = parts.reduce((sum, { amount }) => sum + amount, 0)
  const rowOf = (width: number) => (width >= WIDE_FROM ? 24 : 34)
  return (
    <FittedSvg height={(width) => parts.length * rowOf(width) + 4} label={label}>
      {(width) => {
        const isWide = width >= WIDE_FROM
        const scale = (isWide ? width - NAMES - NOTES : width) / Math.max(1, whole)
        let before = 0
        return parts.map(({ name, amount, note }, index) => {
          const top = index * rowOf(width)
          const from = (isWide ? NAMES : 0) + before * scale
          before += amount
          return (
            <g key={name}>
              <text x="0" y={top + (isWide ? 16 : 13)}>
                {name}
              </text>
              <rect
                x={from}
                y={top + (isWide ? 5 : 18)}
                width={Math.max(1, amount * scale)}
                height={isWide ? 15 : 9}
                rx="2"
                fill="var(--series-3)"
              />
              <text
                x={isWide ? from + amount * scale + 6 : width}
                y={top + (isWide ? 16 : 13)}
                text-anchor={isWide ? 'start' : 'end'}
              >
                {note}
              </text>
            </g>
          )
        })
      }}
    </FittedSvg>
  )
}

/** Names with their values, each in large letters. */
export const Figures = ({ facts }: { facts: ReadonlyArray<readonly [name: string, value: string]> }) => (
  <dl class="figures">
    {facts.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)
