/** One line of a file: its number, its text, and the position of the byte after it. A text that is too long is undefined. */
export type FileLine = { readonly line: number; readonly text: string | undefined; readonly end: number }

const LINE_BYTES_MAX = 1024 * 1024
const NEWLINE = 10

/** Splits a stream of bytes into lines. It holds one line in memory, however long the file. It counts on from `begin`. */
export async function* splitLines(
  bytes: AsyncIterable<Buffer>,
  begin: { position: number; line: number },
): AsyncGenerator<FileLine> {
  let { position, line } = begin
  let pieces: Buffer[] = []
  let length = 0
  const finishLine = (): FileLine => {
    line += 1
    const text = length > LINE_BYTES_MAX ? undefined : textOf(pieces, { isFirst: line === 1 })
    pieces = []
    length = 0
    return { line, text, end: position }
  }
  for await (const chunk of bytes) {
    let start = 0
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start)
      const piece = chunk.subarray(start, end === -1 ? undefined : end)
      length += piece.length
      if (length <= LINE_BYTES_MAX) pieces.push(piece)
      else pieces = []
      if (end === -1) {
        position += piece.length
        break
      }
      position += piece.length + 1
      start = end + 1
      yield finishLine()
    }
  }
  if (length > 0) yield finishLine()
}

/** The text of a line without a carriage return, and without the byte order mark of a file's first line. */
function textOf(pieces: readonly Buffer[], { isFirst }: { isFirst: boolean }): string {
  const [only] = pieces
  const text = (pieces.length === 1 && only ? only : Buffer.concat(pieces)).toString('utf8')
  const start = isFirst && text.charCodeAt(0) === 0xfeff ? 1 : 0
  return text.slice(start, text.endsWith('\r') ? -1 : undefined)
}
