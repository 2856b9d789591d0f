import { writeFile } from 'node:fs/promises'

export type Plot = {
  readonly title: string
  readonly x: { readonly label: string; readonly values: readonly number[]; readonly log?: boolean }
  readonly lines: ReadonlyArray<{ readonly label: string; readonly values: readonly number[] }>
}

export type Bars = {
  readonly title: string
  readonly unit: string
  readonly bars: ReadonlyArray<{ readonly label: string; readonly value: number; readonly note?: string }>
}

const width = 720
const colours = ['#1f6f8b', '#c8553d', '#6a994e', '#7d5ba6']
const font = 'font-family="system-ui, sans-serif" fill="#333"'

/** Plots live beside the documents that show them. Small, plain SVG that a reader of the source can read too. */
const folder = new URL('../../docs/pictures/', import.meta.url)

export const writePlot = (name: string, plot: Plot): Promise<void> => writeFile(new URL(name, folder), linesOf(plot))
export const writeBars = (name: string, bars: Bars): Promise<void> => writeFile(new URL(name, folder), barsOf(bars))

const plain = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
const shown = (value: number) => value.toLocaleString('en-US', { maximumFractionDigits: value < 10 ? 2 : 0 })

function text(x: number, y: number, words: string, options: { anchor?: string; size?: number } = {}): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" font-size="${options.size ?? 12}" text-anchor="${options.anchor ?? 'start'}" ${font}>${plain(words)}</text>`
}

const svg = (height: number, parts: readonly string[]) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">\n<rect width="100%" height="100%" fill="#fff"/>\n${parts.join('\n')}\n</svg>\n`

function barsOf({ title, unit, bars }: Bars): string {
  const most = Math.max(...bars.map(({ value }) => value))
  const left = 210
  const room = width - left - 150
  const rows = bars.flatMap(({ label, value, note }, index) => {
    const y = 46 + index * 30
    const long = Math.max(1, (value / most) * room)
    return [
      text(left - 8, y + 14, label, { anchor: 'end' }),
      `<rect x="${left}" y="${y}" width="${long.toFixed(1)}" height="20" fill="${colours[index % colours.length]}"/>`,
      text(left + long + 6, y + 14, `${shown(value)}${note ? ` · ${note}` : ''}`),
    ]
  })
  return svg(60 + bars.length * 30, [text(16, 26, `${title} (${unit})`, { size: 15 }), ...rows])
}

/** At least this much, and a number that people count in. */
function roundStep(step: number): number {
  const power = 10 ** Math.floor(Math.log10(step))
  return power * ([1, 2, 5].find((count) => count * power >= step) ?? 10)
}

function linesOf({ title, x, lines }: Plot): string {
  const [left, right, top, bottom, height] = [60, 130, 44, 46, 340]
  const across = (value: number) => (x.log ? Math.log10(value) : value)
  const from = across(x.values[0] ?? 0)
  const to = across(x.values.at(-1) ?? 1)
  const highest = Math.max(...lines.flatMap(({ values }) => values))
  const step = roundStep(highest / 4)
  const most = step * Math.ceil((1.05 * highest) / step)
  const px = (value: number) => left + ((across(value) - from) / (to - from || 1)) * (width - left - right)
  const py = (value: number) => height - bottom - (value / most) * (height - top - bottom)
  const grid = Array.from({ length: Math.round(most / step) + 1 }, (_, place) => place * step).flatMap((value) => {
    const y = py(value)
    return [
      `<line x1="${left}" y1="${y.toFixed(1)}" x2="${width - right}" y2="${y.toFixed(1)}" stroke="#ddd"/>`,
      text(left - 6, y + 4, shown(value), { anchor: 'end', size: 11 }),
    ]
  })
  const every = Math.ceil(x.values.length / 6)
  const marks = x.values
    .filter((_, index) => index % every === 0 || index === x.values.length - 1)
    .map((value) => text(px(value), height - bottom + 18, shown(value), { anchor: 'middle', size: 11 }))
  const drawn = lines.flatMap(({ label, values }, index) => {
    const points = values.map((value, at) => `${px(x.values[at] ?? 0).toFixed(1)},${py(value).toFixed(1)}`)
    const colour = colours[index % colours.length]
    return [
      `<polyline points="${points.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>`,
      text(width - right + 8, py(values.at(-1) ?? 0) + 4, label),
    ]
  })
  const label = text((left + width - right) / 2, height - 8, x.label, { anchor: 'middle' })
  return svg(height, [text(16, 26, title, { size: 15 }), ...grid, ...marks, ...drawn, label])
}
