/**
 * What a command says to a person. Results go to standard output, everything else to standard error. Colours and bars
 * only where a person looks at a terminal; elsewhere plain lines.
 */
export type Terminal = {
  readonly isTerminal: boolean
  readonly json: boolean
  /** A result. With --json nothing but JSON goes there. */
  print(text: string): void
  printJson(value: unknown): void
  /** A remark. */
  say(text: string): void
  /** Replaces the last progress on a terminal; elsewhere a line every few seconds. */
  progress(text: string): void
  progressEnd(): void
}

const PLAIN_PROGRESS_EVERY_MS = 5000

export function createTerminal(options: { json: boolean; quiet?: boolean }): Terminal {
  const isTerminal = process.stderr.isTTY === true
  let showing = false
  let lastPlainAt = Number.NEGATIVE_INFINITY
  const clear = () => {
    if (showing) process.stderr.write('\r\u001b[2K')
    showing = false
  }
  return {
    isTerminal,
    json: options.json,
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
    progress(text) {
      if (isTerminal) {
        clear()
        process.stderr.write(cut(text, process.stderr.columns || 80))
        showing = true
      } else if (performance.now() - lastPlainAt > PLAIN_PROGRESS_EVERY_MS) {
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

export const number = (value: number): string => value.toLocaleString('en-US')

/** Columns as wide as their widest cell; numbers to the right. */
export function table(head: readonly string[], rows: ReadonlyArray<ReadonlyArray<string | number>>): string {
  const texts = rows.map((row) => row.map((cell) => (typeof cell === 'number' ? number(cell) : cell)))
  const widths = head.map((title, index) => Math.max(title.length, ...texts.map((row) => row[index]?.length ?? 0)))
  const line = (cells: readonly string[], source?: ReadonlyArray<string | number>) =>
    cells
      .map((cell, index) => {
        const width = widths[index] ?? 0
        return typeof source?.[index] === 'number' ? cell.padStart(width) : cell.padEnd(width)
      })
      .join('  ')
      .trimEnd()
  return [line(head), ...texts.map((row, index) => line(row, rows[index]))].join('\n')
}
