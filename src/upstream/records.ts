const QUOTE = 34
const COMMA = 44
const OPEN_BRACKET = 91
const BACKSLASH = 92
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125
const SPACE = 32
const BYTE_ORDER_MARK = 0xfeff

/**
 * Cuts the elements out of a JSON list in one pass, without parsing them: what it gives is upstream's own text, digit
 * for digit. Takes the list in one piece or in many. An element that is not JSON in itself is cut out all the same, so
 * that it can be set aside alone; a text that is no list throws a SyntaxError.
 */
export class ListScanner {
  private readonly onElement: (raw: string) => void
  private text = ''
  private at = 0
  private depth = 0
  /** Where the element being read begins; -1 outside of the list. */
  private start = -1
  private inString = false
  private ended = false
  private count = 0

  constructor(onElement: (raw: string) => void) {
    this.onElement = onElement
  }

  push(piece: string): void {
    const keepFrom = Math.min(this.start >= 0 ? this.start : this.at, this.text.length)
    this.text = this.text.slice(keepFrom) + piece
    this.at -= keepFrom
    if (this.start >= 0) this.start -= keepFrom
    this.scan()
  }

  end(): void {
    if (!this.ended) throw new SyntaxError('the list does not end')
  }

  private scan(): void {
    const { text } = this
    const { length } = text
    let { at, depth, inString } = this
    while (at < length) {
      const code = text.charCodeAt(at)
      if (inString) {
        // An escape may straddle two pieces: `at` then stands one behind the end and the next piece goes on from there.
        if (code === BACKSLASH) at += 1
        else if (code === QUOTE) inString = false
      } else if (depth === 0) depth = this.outside(code, at)
      else if (code === QUOTE) inString = true
      else if (code === OPEN_BRACE || code === OPEN_BRACKET) depth += 1
      else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
        depth -= 1
        if (depth === 0) this.close(code, at)
      } else if (code === COMMA && depth === 1) this.cut(at)
      at += 1
    }
    this.at = at
    this.depth = depth
    this.inString = inString
  }

  private outside(code: number, at: number): number {
    if (code <= SPACE || code === BYTE_ORDER_MARK) return 0
    if (code !== OPEN_BRACKET || this.ended) throw new SyntaxError('something stands beside the list')
    this.start = at + 1
    return 1
  }

  private cut(end: number): void {
    const raw = this.elementUntil(end)
    if (raw === '') throw new SyntaxError('an element is missing')
    this.start = end + 1
    this.count += 1
    this.onElement(raw)
  }

  private close(code: number, at: number): void {
    if (code !== CLOSE_BRACKET) throw new SyntaxError('the list does not end as one')
    if (this.count > 0 || this.elementUntil(at) !== '') this.cut(at)
    this.ended = true
    this.start = -1
  }

  private elementUntil(end: number): string {
    const { text, start } = this
    const tight = text.charCodeAt(start) > SPACE && text.charCodeAt(end - 1) > SPACE
    return tight ? text.slice(start, end) : text.slice(start, end).trim()
  }
}

/**
 * The same for a whole list of which `JSON.parse` has already said that it is one: where each element starts and ends,
 * in bytes. Three times as fast, for it need not be careful.
 */
export function boundsOf(list: Buffer): number[] {
  const bounds: number[] = []
  const { length } = list
  let at = list.indexOf(OPEN_BRACKET) + 1
  let start = at
  let depth = 1
  while (at < length) {
    let byte = list[at]
    if (byte === QUOTE) {
      for (;;) {
        at += 1
        byte = list[at]
        if (byte === QUOTE) break
        if (byte === BACKSLASH) at += 1
        else if (byte === undefined) return bounds
      }
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      depth -= 1
      if (depth === 0) {
        bounds.push(start, at)
        return bounds
      }
    } else if (byte === COMMA && depth === 1) {
      bounds.push(start, at)
      start = at + 1
    }
    at += 1
  }
  return bounds
}
