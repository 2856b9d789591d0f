/** One line of a file: its number, its text, and the byte after it. A text that is too long is not kept. */
export type Line = { readonly line: number; readonly text: string | undefined; readonly end: number }

export const LINE_BYTES_MAX = 1024 * 1024
const NEWLINE = 10

/** Cuts a stream of bytes into lines. Holds one line at most, however long the file; counts on from where it begins. */
export async function* linesOf(
  bytes: AsyncIterable<Buffer>,
  begin: { position: number; line: number },
): AsyncGenerator<Line> {
  let { position, line } = begin
  let parts: Buffer[] = []
  let length = 0
  const finish = (): Line => {
    line += 1
    const text = length > LINE_BYTES_MAX ? undefined : textOf(parts, line === 1)
    parts = []
    length = 0
    return { line, text, end: position }
  }
  for await (const chunk of bytes) {
    let from = 0
    for (;;) {
      const at = chunk.indexOf(NEWLINE, from)
      const piece = chunk.subarray(from, at === -1 ? undefined : at)
      length += piece.length
      if (length <= LINE_BYTES_MAX) parts.push(piece)
      else parts = []
      if (at === -1) {
        position += piece.length
        break
      }
      position += piece.length + 1
      from = at + 1
      yield finish()
    }
  }
  if (length > 0) yield finish()
}

function textOf(parts: readonly Buffer[], first: boolean): string {
  const [only] = parts
  const text = (parts.length === 1 && only ? only : Buffer.concat(parts)).toString('utf8')
  const from = first && text.charCodeAt(0) === 0xfeff ? 1 : 0
  return text.slice(from, text.endsWith('\r') ? -1 : undefined)
}
