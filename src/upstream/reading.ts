import type { Answered } from './call.ts'
import type { Fields, OddRecord, Reading, ReadRecord } from './client.ts'
import { ListScanner } from './records.ts'
import { httpDateMs } from './retry-after.ts'
import { type SnapshotStream, type Stream, type StreamName, snapshotStreams, streams } from './streams.ts'
import type { TextSink } from './transport.ts'

/** Collects the records of one answer, whether it comes whole or piece by piece. */
export class Gathering implements TextSink {
  readonly records: ReadRecord[] = []
  readonly odd: OddRecord[] = []
  private readonly stream: Stream
  private readonly scanner: ListScanner

  constructor(stream: StreamName) {
    this.stream = streams[stream]
    this.scanner = new ListScanner((raw) => this.take(raw))
  }

  push(text: string): void {
    this.scanner.push(text)
  }

  end(): void {
    this.scanner.end()
  }

  /** Sorts one record out: it fits, or it is odd; it never costs its neighbours. */
  take(raw: string): void {
    const fields = parsed(raw)
    if (fields === undefined) {
      this.odd.push({ path: '', reason: 'not JSON', raw })
    } else if (!isFields(fields)) {
      this.odd.push({ path: '', reason: 'not an object', raw })
    } else if (this.stream.quick(fields)) {
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
export function readingOf(stream: StreamName, { answer, sentAtMs }: Answered): Reading {
  const serverMs = httpDateMs(answer.date)
  const gathering = answer.sink instanceof Gathering ? answer.sink : new Gathering(stream)
  gather(stream, gathering, answer.sink === undefined ? answer.text : undefined)
  return {
    records: gathering.records,
    odd: gathering.odd,
    sentAt: new Date(sentAtMs),
    serverDate: serverMs === undefined ? undefined : new Date(serverMs),
  }
}

function gather(stream: StreamName, gathering: Gathering, whole: string | undefined): void {
  if (whole !== undefined && isBlank(whole)) return
  if (whole === undefined || !isSnapshot(stream)) {
    if (whole !== undefined) gathering.push(whole)
    gathering.end()
    return
  }
  const raw = whole.trim()
  if (raw === '[]' || raw === 'null') return
  if (!isFields(parsed(raw))) throw new SyntaxError('it is no object')
  gathering.take(raw)
}

export function isSnapshot(stream: StreamName): stream is SnapshotStream {
  return snapshotStreams.some((name) => name === stream)
}

/** 204, an empty body, and a body of white space are all the same: nothing there. */
function isBlank(text: string): boolean {
  return text.length === 0 || (text.length < 100 && text.trim() === '')
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
