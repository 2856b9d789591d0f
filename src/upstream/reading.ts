import type { PulledStream } from '../stream.ts'
import type { Answered } from './call.ts'
import type { Fields, OddRecord, Reading, ReadRecord } from './client.ts'
import { boundsOf, ListScanner } from './records.ts'
import { httpDateMs } from './retry-after.ts'
import type { TextSink } from './transport.ts'

/** Collects the records of one answer, whether it comes whole or piece by piece. */
export class Gathering implements TextSink {
  readonly records: ReadRecord[] = []
  readonly odd: OddRecord[] = []
  private readonly stream: Pick<PulledStream, 'schema' | 'quickCheck'>
  private scanner: ListScanner | undefined

  constructor(stream: Pick<PulledStream, 'schema' | 'quickCheck'>) {
    this.stream = stream
  }

  push(text: string): void {
    this.scanner ??= new ListScanner((raw) => this.take(raw))
    this.scanner.push(text)
  }

  end(): void {
    this.scanner?.end()
  }

  /** A list that came whole: parsed at once, its elements cut out of the bytes as they came. */
  takeList(body: Buffer): void {
    const text = body.toString('utf8')
    const values = parsed(text)
    const bounds = Array.isArray(values) ? boundsOf(body) : []
    if (!Array.isArray(values) || (values.length > 0 && bounds.length !== 2 * values.length)) {
      // Broken somewhere: what is whole in itself is saved one by one, or the scanner says why nothing can be.
      this.push(text)
      this.end()
      return
    }
    // In plain ASCII a byte is a character, and a piece of the text costs next to nothing.
    const ascii = text.length === body.length
    for (let index = 0; index < values.length; index += 1) {
      const start = bounds[2 * index] ?? 0
      const end = bounds[2 * index + 1] ?? 0
      this.sort(tight(ascii ? text.slice(start, end) : body.toString('utf8', start, end)), values[index])
    }
  }

  take(raw: string): void {
    this.sort(raw, parsed(raw))
  }

  /** It fits, or it is odd; it never costs its neighbours. */
  private sort(raw: string, fields: unknown): void {
    if (fields === undefined) {
      this.odd.push({ path: '', reason: 'not JSON', raw })
    } else if (!isFields(fields)) {
      this.odd.push({ path: '', reason: 'not an object', raw })
    } else if (this.stream.quickCheck?.(fields)) {
      this.records.push({ raw, fields })
    } else {
      this.takeSlowly(raw, fields)
    }
  }

  private takeSlowly(raw: string, fields: Fields): void {
    const { error } = this.stream.schema.safeParse(fields)
    const [issue] = error?.issues ?? []
    if (issue === undefined) this.records.push({ raw, fields })
    else this.odd.push({ path: issue.path.join('.').slice(0, 100), reason: wordsOf(issue), raw })
  }
}

/** Zod's and our own words name kinds and bounds, never what was found: `received` would. */
function wordsOf(issue: { code?: string | undefined; message: string }): string {
  return issue.code === 'unrecognized_keys'
    ? 'unknown keys'
    : issue.message.replace(/, received .*$/s, '').slice(0, 200)
}

/** Makes a reading of an answer. What is no list, or no object for a snapshot, is no reading: a SyntaxError. */
export function readingOf(stream: PulledStream, { answer, sentAtMs }: Answered): Reading {
  const serverMs = httpDateMs(answer.date)
  const gathering = answer.sink instanceof Gathering ? answer.sink : new Gathering(stream)
  gather(stream, gathering, answer.sink === undefined ? answer.body : undefined)
  return {
    records: gathering.records,
    odd: gathering.odd,
    sentAt: new Date(sentAtMs),
    serverDate: serverMs === undefined ? undefined : new Date(serverMs),
  }
}

function gather(stream: PulledStream, gathering: Gathering, whole: Buffer | undefined): void {
  if (whole === undefined) gathering.end()
  else if (isBlank(whole)) return
  else if (stream.kind === 'snapshot') gatherOne(gathering, whole.toString('utf8').trim())
  else gathering.takeList(whole)
}

function gatherOne(gathering: Gathering, raw: string): void {
  if (raw === '[]' || raw === 'null') return
  if (!isFields(parsed(raw))) throw new SyntaxError('it is no object')
  gathering.take(raw)
}

/** 204, an empty body, and a body of white space are all the same: nothing there. */
function isBlank(body: Buffer): boolean {
  return body.length === 0 || (body.length < 100 && body.toString('utf8').trim() === '')
}

const SPACE = 32

function tight(raw: string): string {
  return raw.charCodeAt(0) > SPACE && raw.charCodeAt(raw.length - 1) > SPACE ? raw : raw.trim()
}

function parsed(raw: string): unknown {
  try {
    return JSON.parse(raw)
  } catch {
    return undefined
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
