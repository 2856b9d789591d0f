/** What a person should see at a glance. */
export type Shade = 'good' | 'odd' | 'bad'
/** Colours a text, or gives it back as it is. */
export type Paint = (shade: Shade, text: string) => string

/**
 * What a command says to a person. Results go to standard output, everything else to standard error. Colours and bars
 * only where a person looks at a terminal that can show them; elsewhere plain lines.
 */
export type Terminal = {
  readonly isTerminal: boolean
  readonly json: boolean
  /** For what is printed. */
  readonly paint: Paint
  /** For what is said. */
  readonly paintSaid: Paint
  /** A result. With --json nothing but JSON goes there. */
  print(text: string): void
  printJson(value: unknown): void
  /** A remark. */
  say(text: string): void
  /** Replaces the last progress on a terminal, with a bar for a share; elsewhere a plain line every few seconds. */
  progress(text: string, share?: number): void
  progressEnd(): void
}

const PLAIN_PROGRESS_EVERY_MS = 5000

const codes: Readonly<Record<Shade, number>> = { good: 32, odd: 33, bad: 31 }

type Stream = { readonly isTTY?: boolean; hasColors?(): boolean }

/** Only for a terminal, and neither for one without colours nor for a person who wants none: NO_COLOR, TERM=dumb. */
export function painterFor(stream: Stream): Paint {
  const isColoured = stream.isTTY === true && stream.hasColors?.() === true
  return (shade, text) => (isColoured ? `\u001b[${codes[shade]}m${text}\u001b[39m` : text)
}

const unpainted: Paint = (_shade, text) => text

/** `term` is the kind of terminal: one that is dumb, or of no kind, cannot take a line back. */
export function createTerminal(options: { json: boolean; term: string | undefined }): Terminal {
  const isTerminal = process.stderr.isTTY === true && !['dumb', ''].includes(options.term ?? '')
  let showing = false
  let lastPlainAt = Number.NEGATIVE_INFINITY
  const clear = () => {
    if (showing) process.stderr.write('\r\u001b[2K')
    showing = false
  }
  return {
    isTerminal,
    json: options.json,
    paint: options.json ? unpainted : painterFor(process.stdout),
    paintSaid: painterFor(process.stderr),
    print(text) {
      clear()
      process.stdout.write(`${text}\n`)
    },
    printJson(value) {
      clear()
      process.stdout.write(`${JSON.stringify(value)}\n`)
    },
    say(text) {
      clear()
      process.stderr.write(`${text}\n`)
    },
    progress(text, share) {
      if (isTerminal) {
        clear()
        process.stderr.write(
          cut(share === undefined ? text : `${bar(share, 20)} ${text}`, process.stderr.columns || 80),
        )
        showing = true
        return
      }
      // What has only just begun is not worth a line, unless it is all that is said.
      if (share !== undefined && lastPlainAt === Number.NEGATIVE_INFINITY) lastPlainAt = performance.now()
      if (performance.now() - lastPlainAt > PLAIN_PROGRESS_EVERY_MS) {
        lastPlainAt = performance.now()
        process.stderr.write(`${text}\n`)
      }
    },
    progressEnd: clear,
  }
}

/** What fits on one line, however narrow: a line that wraps could not be replaced. */
export const cut = (text: string, columns: number): string => text.slice(0, Math.max(1, columns - 1))

export function bar(share: number, width: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * width)
  return `${'█'.repeat(filled)}${'░'.repeat(width - filled)}`
}

export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (seconds < 60) return `${(ms / 1000).toFixed(1)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** `1 profile`, `2 profiles`. */
export const many = (count: number, what: string): string => `${number(count)} ${what}${count === 1 ? '' : 's'}`

export const number = (value: number): string => value.toLocaleString('en-US')

export type Cell = string | number | { readonly value: string | number; readonly shade: Shade | undefined }

/** A cell that stands out, where there is a reason. */
export const shaded = (value: string | number, shade: Shade | undefined): Cell => ({ value, shade })

/** Columns as wide as their widest cell; numbers to the right. */
export function table(head: readonly string[], rows: ReadonlyArray<readonly Cell[]>, paint: Paint = unpainted): string {
  const cells = rows.map((row) =>
    row.map((cell) => (typeof cell === 'object' ? cell : { value: cell, shade: undefined })),
  )
  const textOf = (value: string | number | undefined) => (typeof value === 'number' ? number(value) : (value ?? ''))
  const widths = head.map((title, index) =>
    Math.max(title.length, ...cells.map((row) => textOf(row[index]?.value).length)),
  )
  const padded = (value: string | number, index: number) => {
    const width = widths[index] ?? 0
    return typeof value === 'number' ? number(value).padStart(width) : value.padEnd(width)
  }
  const lines = cells.map((row) =>
    row.map(({ value, shade }, index) => {
      const last = index === row.length - 1 ? padded(value, index).trimEnd() : padded(value, index)
      return shade ? paint(shade, last) : last
    }),
  )
  const isNumbers = (index: number) => cells.length > 0 && cells.every((row) => typeof row[index]?.value === 'number')
  const titles = head.map((title, index) =>
    isNumbers(index) ? title.padStart(widths[index] ?? 0) : title.padEnd(widths[index] ?? 0),
  )
  return [titles, ...lines].map((line) => line.join('  ').trimEnd()).join('\n')
}
