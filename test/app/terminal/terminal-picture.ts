/** A piece of a terminal's output, and when it was shown. */
export type Piece = { readonly atMs: number; readonly text: string }

type Shade = 'good' | 'odd' | 'bad' | 'plain'
type Run = { readonly shade: Shade; readonly text: string }
/** A state of a line: from when, and until when another state took its place. */
type State = {
  readonly row: number
  readonly fromMs: number
  readonly untilMs: number | undefined
  readonly text: string
}

const CHARACTER_WIDTH = 7.83
const LINE_HEIGHT = 18
const MARGIN = 14
/** Longer silences are cut to this, so that nobody waits for a machine that was busy. */
const SILENCE_MAX_MS = 1500
/** The picture is played faster where the start took longer. */
const PLAYED_MAX_MS = 15_000
/** A line that is overwritten more often shows one state in this time. */
const STATE_MIN_MS = 250

/** An animated picture of what a terminal showed: light and dark, and at rest where the reader wants no motion. */
export function drawTerminal(pieces: readonly Piece[], { columns }: { columns: number }): string {
  const states = wrapped(statesOf(withShortSilences(pieces)), columns)
  const rows = Math.max(...states.map(({ row }) => row)) + 1
  const width = Math.ceil(columns * CHARACTER_WIDTH + 2 * MARGIN)
  const height = rows * LINE_HEIGHT + 2 * MARGIN
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="${plain(labelOf(states))}">
<style>
rect{fill:#f6f8fa;stroke:#d1d9e0}text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328;white-space:pre}
.good{fill:#1a7f37}.odd{fill:#9a6700}.bad{fill:#d1242f}
@keyframes in{from{opacity:0}to{opacity:1}}@keyframes out{from{opacity:1}to{opacity:0}}
.a{animation:in 20ms both}.b{opacity:0;animation:in 20ms both,out 20ms forwards}
@media (prefers-color-scheme:dark){rect{fill:#0d1117;stroke:#3d444d}text{fill:#e6edf3}.good{fill:#3fb950}.odd{fill:#d29922}.bad{fill:#f85149}}
@media (prefers-reduced-motion:reduce){.a{animation:none}.b{display:none}}
</style>
<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="6"/>
${states.map(drawState).join('\n')}
</svg>
`
}

const plain = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with the control character.
const colour = /\u001b\[(\d*)m/
const withoutColours = (text: string) =>
  text
    .split(colour)
    .filter((_, index) => index % 2 === 0)
    .join('')

const labelOf = (states: readonly State[]) =>
  states
    .filter(({ untilMs, text }) => untilMs === undefined && text.trim() !== '')
    .map(({ text }) => withoutColours(text).trim())
    .join(' · ')
    .slice(0, 300)

function withShortSilences(pieces: readonly Piece[]): Piece[] {
  let shownMs = 0
  const shortened = pieces.map(({ text, atMs }, index) => {
    shownMs += Math.min(SILENCE_MAX_MS, atMs - (pieces[index - 1]?.atMs ?? 0))
    return { text, atMs: shownMs }
  })
  const pace = Math.min(1, PLAYED_MAX_MS / shownMs)
  return shortened.map(({ text, atMs }) => ({ text, atMs: atMs * pace }))
}

/** Each line with its states: what stood there when the line ended stays. */
function statesOf(pieces: readonly Piece[]): State[] {
  const states: State[] = []
  let row = 0
  let line = ''
  let shown: { text: string; fromMs: number } | undefined
  const replace = (atMs: number) => {
    const before = states.at(-1)
    const isSame = before?.row === row && before.text === shown?.text
    if (shown) states.splice(isSame ? -1 : states.length, 1, { row, ...(isSame ? before : shown), untilMs: atMs })
    shown = undefined
  }
  for (const { atMs, text } of pieces) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: what clears a line begins with the control character.
    for (const part of text.replaceAll('\r\n', '\n').split(/(\n|\r(?:\u001b\[2K)?)/)) {
      if (part === '\n') {
        if (line !== '') states.push({ row, text: line, fromMs: shown?.fromMs ?? atMs, untilMs: undefined })
        row += 1
        line = ''
        shown = undefined
      } else if (part.startsWith('\r')) {
        replace(atMs)
        line = ''
      } else if (part !== '') {
        line += part
        shown ??= { text: line, fromMs: atMs }
        shown = { ...shown, text: line }
      }
    }
  }
  return states.filter(({ fromMs, untilMs }) => untilMs === undefined || untilMs - fromMs >= STATE_MIN_MS)
}

/** Lines that are wider than the terminal go on in the next row, and move the rows below down. */
function wrapped(states: readonly State[], columns: number): State[] {
  const rowsOf = new Map<number, number>()
  for (const { row, text } of states)
    rowsOf.set(row, Math.max(rowsOf.get(row) ?? 1, Math.ceil(withoutColours(text).length / columns)))
  const startOf = (row: number) =>
    Array.from({ length: row }, (_, before) => rowsOf.get(before) ?? 1).reduce((a, b) => a + b, 0)
  return states.flatMap((state) => {
    const start = startOf(state.row)
    if (withoutColours(state.text).length <= columns) return [{ ...state, row: start }]
    const text = withoutColours(state.text)
    return Array.from({ length: Math.ceil(text.length / columns) }, (_, part) => ({
      ...state,
      row: start + part,
      text: text.slice(part * columns, (part + 1) * columns),
    }))
  })
}

function drawState({ row, fromMs, untilMs, text }: State): string {
  const seconds = (ms: number) => `${(ms / 1000).toFixed(2)}s`
  const delay = untilMs === undefined ? seconds(fromMs) : `${seconds(fromMs)},${seconds(untilMs)}`
  const spans = runsOf(text).map(({ shade, text: words }) =>
    shade === 'plain' ? plain(words) : `<tspan class="${shade}">${plain(words)}</tspan>`,
  )
  const y = MARGIN + row * LINE_HEIGHT + 13
  return `<text class="${untilMs === undefined ? 'a' : 'b'}" x="${MARGIN}" y="${y}" style="animation-delay:${delay}">${spans.join('')}</text>`
}

const shadeOf: Readonly<Record<string, Shade>> = { 31: 'bad', 32: 'good', 33: 'odd' }

function runsOf(text: string): Run[] {
  const parts = text.trimEnd().split(colour)
  return parts.flatMap((words, index): Run[] =>
    index % 2 === 1 || words === '' ? [] : [{ text: words, shade: shadeOf[parts[index - 1] ?? ''] ?? 'plain' }],
  )
}
