import { printableJson, printableLine, printableText } from '../../base/text/readable.ts'
import type { JsonResult, JsonResultName } from '../results/json-results.ts'

/** Colours for texts that a reader should see at once. */
export type Shade = 'good' | 'odd' | 'bad'
/** Colours a text, or returns it as it is where colours are not wanted. */
export type Paint = (shade: Shade, text: string) => string

/**
 * The output of a command. Results go to standard output, remarks and progress to standard error. Colours and progress bars
 * are shown only on a terminal that supports them; elsewhere plain lines. Control characters in a text are replaced: a name
 * or a reason from elsewhere cannot move the cursor or hide a line.
 */
export type Terminal = ReturnType<typeof createTerminal>

const PLAIN_PROGRESS_EVERY_MS = 5000
const PROGRESS_BAR_WIDTH = 20
const COLUMNS_DEFAULT = 80

const colourCodes: Readonly<Record<Shade, number>> = { good: 32, odd: 33, bad: 31 }

/** Colours only on a terminal that has colours, and where neither NO_COLOR nor TERM=dumb is set. */
export function painterFor(stream: { readonly isTTY?: boolean; hasColors?(): boolean }): Paint {
  const isColoured = stream.isTTY === true && stream.hasColors?.() === true
  return (shade, text) => (isColoured ? `\u001b[${colourCodes[shade]}m${text}\u001b[39m` : text)
}

/** Leaves a text as it is. */
export const unpainted: Paint = (_shade, text) => text

/** `term` is the kind of terminal: a dumb terminal, or an unknown one, cannot clear a line. */
export function createTerminal(options: { json: boolean; term: string | undefined }) {
  const isTerminal = process.stderr.isTTY === true && !['dumb', ''].includes(options.term ?? '')
  const { clear, show } = isTerminal ? createProgressLine() : createPlainProgress()
  const write = (stream: NodeJS.WriteStream, text: string) => {
    clear()
    stream.write(`${printableText(text)}\n`)
  }
  return {
    isTerminal,
    /**
     * Results go to a terminal, and not to a file or a log, which would keep a secret. `docker run -t` gives the first process of a
     * container, or its child, a terminal, and keeps in its log what is shown there.
     */
    printsToTerminal: process.stdout.isTTY === true && process.ppid > 1,
    json: options.json,
    /** Colours results, for standard output. */
    paint: options.json ? unpainted : painterFor(process.stdout),
    /** Colours remarks, for standard error. */
    paintRemark: painterFor(process.stderr),
    /** Prints a result. With --json only JSON is printed. */
    print: (text: string) => write(process.stdout, text),
    printJson: <N extends JsonResultName>(_command: N, value: JsonResult<N>) =>
      write(process.stdout, printableJson(value)),
    /** Writes a remark. */
    say: (text: string) => write(process.stderr, text),
    /** On a terminal overwrites the last progress, with a bar for `share`; elsewhere writes a plain line every few seconds. */
    progress: show,
    progressEnd: clear,
  }
}

type Progress = { show(text: string, share?: number): void; clear(): void }

/** One line that is overwritten in place. */
function createProgressLine(): Progress {
  let isShown = false
  const clear = () => {
    if (isShown) process.stderr.write('\r\u001b[2K')
    isShown = false
  }
  return {
    clear,
    show(words, share) {
      clear()
      const text = printableLine(words)
      const line = share === undefined ? text : `${progressBar(share, PROGRESS_BAR_WIDTH)} ${text}`
      process.stderr.write(cutToColumns(line, process.stderr.columns || COLUMNS_DEFAULT))
      isShown = true
    },
  }
}

/** A plain line every few seconds. */
function createPlainProgress(): Progress {
  let lastAt = Number.NEGATIVE_INFINITY
  return {
    show(text, share) {
      // The first share says only that the work has begun: it gets no line. A text without a share does.
      if (share !== undefined && lastAt === Number.NEGATIVE_INFINITY) lastAt = performance.now()
      if (performance.now() - lastAt <= PLAIN_PROGRESS_EVERY_MS) return
      lastAt = performance.now()
      process.stderr.write(`${printableLine(text)}\n`)
    },
    clear: () => undefined,
  }
}

/** Cuts a text to one line: a line that wraps could not be overwritten. */
export const cutToColumns = (text: string, columns: number): string => text.slice(0, Math.max(1, columns - 1))

export function progressBar(share: number, width: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, share)) * width)
  return `${'█'.repeat(filled)}${'░'.repeat(width - filled)}`
}
