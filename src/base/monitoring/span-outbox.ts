/** A body of this size is sent without waiting for more. */
const BODY_BYTES = 256 * 1024
/** How many bodies wait for a slow or silent collector; later spans are dropped. */
const BODIES_MAX = 32
/** A character of a text takes up to this many bytes. */
const CHARACTER_BYTES = 3
const BEGIN = Buffer.from('{"resourceSpans":[{"resource":{"attributes":')
const END = Buffer.from(']}]}]}')

type SpanOutboxParts = {
  /** The attributes of the resource, as text. */
  readonly resource: string
  readonly send: (body: Buffer<ArrayBuffer>) => Promise<unknown>
  /** How long a span waits at most before it is sent. */
  readonly everyMs: number
}

/**
 * Spans that have ended, as the bytes of OTLP bodies: as objects they would live long enough to reach the old part of the heap. One
 * body is under way at a time.
 */
export class SpanOutbox {
  private readonly parts: SpanOutboxParts
  private readonly head: Buffer
  private readonly bodies: Buffer<ArrayBuffer>[] = []
  private readonly timer: NodeJS.Timeout
  private open = Buffer.allocUnsafe(BODY_BYTES)
  private used = 0
  private scope: string | undefined
  private sending: Promise<void> = Promise.resolve()
  private isSending = false

  constructor(parts: SpanOutboxParts) {
    this.parts = parts
    this.head = Buffer.concat([BEGIN, Buffer.from(`${parts.resource}},"scopeSpans":[`)])
    this.timer = setInterval(() => this.closeBody(), parts.everyMs).unref()
  }

  /** `span`: its text. Spans of one scope that end one after another share the scope's name. */
  add(scope: string, span: string): void {
    let text = this.following(scope, span)
    if (this.used + text.length * CHARACTER_BYTES > this.open.length) {
      this.closeBody()
      text = this.following(scope, span)
      const bytes = text.length * CHARACTER_BYTES
      if (bytes > this.open.length) this.open = Buffer.allocUnsafe(bytes)
    }
    this.used += this.open.write(text, this.used)
    this.scope = scope
  }

  /** Sends what waits. */
  async flush(): Promise<void> {
    clearInterval(this.timer)
    this.closeBody()
    await this.sending
  }

  private following(scope: string, span: string): string {
    if (scope === this.scope) return `,${span}`
    return `${this.scope === undefined ? '' : ']},'}{"scope":{"name":${JSON.stringify(scope)}},"spans":[${span}`
  }

  private closeBody(): void {
    if (this.used === 0) return
    if (this.bodies.length < BODIES_MAX) {
      this.bodies.push(Buffer.concat([this.head, this.open.subarray(0, this.used), END]))
      if (!this.isSending) this.sending = this.sendAll()
    }
    this.used = 0
    this.scope = undefined
  }

  private async sendAll(): Promise<void> {
    this.isSending = true
    for (let body = this.bodies.shift(); body !== undefined; body = this.bodies.shift()) await this.parts.send(body)
    this.isSending = false
  }
}
