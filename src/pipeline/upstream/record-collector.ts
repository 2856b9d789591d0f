import { type DerivationState, derivationStates } from '../../base/contract/derivation-state.ts'
import { isJsonObject, jsonOrUndefined } from '../../base/text/json.ts'
import type { InvalidRecord, SourceRecord, UpstreamAnswer } from '../transfer/reading.ts'
import type { Fields, PulledStream } from '../transfer/stream.ts'
import { isErrorBody } from './answer-rules.ts'
import type { HttpResponse, TextSink } from './http.ts'
import { elementBoundsOf, ListScanner, withoutOuterSpace } from './list-scanner.ts'
import { httpDateMsOf } from './retry-after.ts'
import type { TimedResponse } from './sender.ts'

/** Collects the records of one answer, whether the answer comes whole or piece by piece. */
export class RecordCollector implements TextSink {
  readonly records: SourceRecord[] = []
  readonly invalid: InvalidRecord[] = []
  private readonly stream: Pick<PulledStream, 'schema' | 'quickCheck'>
  private scanner: ListScanner | undefined

  constructor(stream: Pick<PulledStream, 'schema' | 'quickCheck'>) {
    this.stream = stream
  }

  push(text: string): void {
    this.scanner ??= new ListScanner((raw) => this.addText(raw))
    this.scanner.push(text)
  }

  end(): void {
    this.scanner?.end()
  }

  /** Adds a list that came whole: parses it at once, and cuts the text of each element out of the bytes. */
  addList(body: Buffer): void {
    const text = body.toString('utf8')
    const values = jsonOrUndefined(text)
    if (!Array.isArray(values)) {
      // The list is broken somewhere: the scanner saves each whole element, or says why none can be saved.
      this.push(text)
      this.end()
      return
    }
    const bounds = elementBoundsOf(body)
    // In plain ASCII a byte is a character, and a slice of the text costs next to nothing.
    const ascii = text.length === body.length
    for (let index = 0; index < values.length; index += 1) {
      const start = bounds[2 * index] ?? 0
      const end = bounds[2 * index + 1] ?? 0
      this.addParsed(
        withoutOuterSpace(ascii ? text.slice(start, end) : body.toString('utf8', start, end)),
        values[index],
      )
    }
  }

  addText(raw: string): void {
    this.addParsed(raw, jsonOrUndefined(raw))
  }

  /** Adds one element to the records or to the invalid records. The other elements are not affected. */
  private addParsed(raw: string, fields: unknown): void {
    if (fields === undefined) {
      this.invalid.push({ path: '', reason: 'not JSON', raw })
    } else if (!isJsonObject(fields)) {
      this.invalid.push({ path: '', reason: 'not an object', raw })
    } else if (this.stream.quickCheck?.(fields)) {
      this.records.push({ raw, fields })
    } else {
      this.addBySchema(raw, fields)
    }
  }

  private addBySchema(raw: string, fields: Fields): void {
    const { error } = this.stream.schema.safeParse(fields)
    const [issue] = error?.issues ?? []
    if (issue === undefined) this.records.push({ raw, fields })
    else this.invalid.push({ path: issue.path.join('.').slice(0, 100), reason: reasonOf(issue), raw })
  }
}

/** The messages of Zod and of our own rules name kinds and bounds, never the value. Only `received …` would, so it is cut off. */
function reasonOf(issue: { code?: string | undefined; message: string }): string {
  return issue.code === 'unrecognized_keys'
    ? 'unknown keys'
    : issue.message.replace(/, received .*$/s, '').slice(0, 200)
}

/**
 * Makes a reading of an answer. "Nothing there" is said by the status 204 or by an empty list, and by nothing else: an
 * answer that is no list, or no object for a snapshot, throws a SyntaxError.
 */
export function parseAnswer(stream: PulledStream, { response, kind, sentAtMs }: TimedResponse): UpstreamAnswer {
  const collector = response.sink instanceof RecordCollector ? response.sink : new RecordCollector(stream)
  if (kind === 'json') collect(stream, collector, response.sink === undefined ? response.body : undefined)
  const { records, invalid } = collector
  const { hasNextPage: isPartial = false } = response
  // The tag of a first page would call the whole window unchanged.
  const tag = isPartial ? undefined : strongTagOf(response.tag)
  return { records, invalid, ...clockAndStateOf(response), sentAtMs, tag, unchanged: false, isPartial }
}

/** Makes a reading of a 304, about the tag that it names: some servers name another one than they were asked about. */
export function unchangedAnswer(heldTag: string | undefined, { response, sentAtMs }: TimedResponse): UpstreamAnswer {
  const tag = response.tag?.replace(/^W\//, '') ?? heldTag
  return { records: [], invalid: [], ...clockAndStateOf(response), sentAtMs, tag, unchanged: true }
}

const clockAndStateOf = ({ date, derivationState }: HttpResponse): Pick<UpstreamAnswer, 'serverAtMs' | 'word'> => ({
  serverAtMs: httpDateMsOf(date),
  word: derivationStateOf(derivationState),
})

/** A word that is not known counts as unfinished: upstream says something of its answer that we cannot rely on. */
function derivationStateOf(header: string | undefined): DerivationState | undefined {
  if (header === undefined) return undefined
  const word = header.trim().toLowerCase()
  return derivationStates.find((state) => state === word) ?? 'pending'
}

/**
 * A weak tag stands for answers that may differ, an empty tag may stand for anything, and a very long tag would not be worth
 * its place: all count as none.
 */
function strongTagOf(header: string | undefined): string | undefined {
  return header !== undefined && /^"[\x21\x23-\x7e]{1,200}"$/.test(header) ? header : undefined
}

function collect(stream: PulledStream, collector: RecordCollector, body: Buffer | undefined): void {
  if (body === undefined) collector.end()
  else if (stream.kind === 'snapshot') collectSnapshot(collector, body.toString('utf8').trim())
  else collector.addList(body)
}

/** An empty list says that there is nothing, as it does in every stream. */
function collectSnapshot(collector: RecordCollector, raw: string): void {
  const value = jsonOrUndefined(raw)
  if (Array.isArray(value) && value.length === 0) return
  if (!isJsonObject(value)) throw new SyntaxError('it is no object')
  if (isErrorBody(value)) throw new SyntaxError('it is the body of an error')
  collector.addText(raw)
}
