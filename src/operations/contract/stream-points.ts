import type { Span } from '../../base/time/spans.ts'
import { DAY, HOUR } from '../../base/time/units.ts'
import type { PulledStream } from '../../pipeline/transfer/stream.ts'
import {
  type ContractPoint,
  type Exchange,
  endOf,
  harmful,
  harmless,
  isOk,
  recordsOf,
  type Seen,
} from './contract-point.ts'
import { listPoints, recordPoints } from './record-points.ts'
import {
  keyOf,
  PEOPLE_MAX,
  type Period,
  periodsOf,
  personOf,
  richest,
  wholeAnswers,
  wholeQuestions,
  wholeWindow,
  windowQuestion,
} from './stream-answers.ts'

const EMPTY_WINDOW: Span = { startMs: Date.UTC(1990, 0, 1), endMs: Date.UTC(1990, 0, 2) }

const answersPoint = (stream: PulledStream): ContractPoint => ({
  name: `${stream.name}: answers`,
  specified:
    stream.kind === 'windowed' ? 'a list with 200, or 204; a window as long as ours too' : 'an object with 200, or 204',
  requestsMax: stream.operation.caller === 'profile' ? 2 * PEOPLE_MAX : PEOPLE_MAX,
  ...(stream.kind === 'windowed' && { setting: `windowMs of ${stream.name} in config/streams.ts` }),
  asks: (seen) => wholeQuestions(stream, seen),
  judge(seen) {
    const answers = wholeAnswers(stream, seen)
    if (answers.length === 0) return undefined
    return answers.flatMap((answer) => {
      const { status, body, question } = answer
      if (status === 204) return []
      if (status !== 200) return [harmful(`it answers ${endOf(answer)}`, question)]
      const isShaped = stream.kind === 'windowed' ? Array.isArray(body) : typeof body === 'object' && body !== null
      return isShaped ? [] : [harmful(`its 200 holds no ${stream.kind === 'windowed' ? 'list' : 'object'}`, question)]
    })
  },
})

const emptyPoint = (stream: PulledStream): ContractPoint => ({
  name: `${stream.name}: nothing found`,
  specified: '204 without a body',
  requestsMax: 1,
  asks: (seen) => (seen.people > 0 ? [windowQuestion(stream, { key: 'empty', person: 0, window: EMPTY_WINDOW })] : []),
  judge(seen) {
    const answer = seen.answer(`${stream.name}/empty`)
    if (answer === undefined) return undefined
    const { status, body, question } = answer
    if (status === 204) return []
    if (status === 200 && Array.isArray(body) && body.length === 0)
      return [harmless('200 with an empty list', question)]
    if (status === 200 && Array.isArray(body))
      return [harmful('records of a year without any: the window has no effect', question)]
    return [harmful(`it answers ${endOf(answer)}, which is no reading`, question)]
  },
})

const pagesPoint = (stream: PulledStream): ContractPoint => ({
  name: `${stream.name}: whole answers`,
  specified: 'all records of the window in one answer',
  requestsMax: 2,
  setting: `windowMs of ${stream.name} in config/streams.ts`,
  asks(seen) {
    const whole = richest(stream, seen)
    if (whole === undefined) return []
    const { startMs, endMs } = wholeWindow(stream, seen)
    const middleMs = startMs + Math.floor((endMs - startMs) / 2 / DAY) * DAY
    const halves = [
      { startMs, endMs: middleMs },
      { startMs: middleMs, endMs },
    ]
    return halves.map((window, half) =>
      windowQuestion(stream, { key: `half/${half}`, person: personOf(whole), window }),
    )
  },
  judge(seen) {
    const whole = richest(stream, seen)
    const halves = [0, 1].flatMap((half) => seen.answer(`${stream.name}/half/${half}`) ?? [])
    if (whole === undefined || halves.length < 2) return undefined
    // Asked for again after the halves: what was derived in between is in the second answer.
    const wholes = [whole, seen.answer(`${stream.name}/again`)]
    const held = new Set(wholes.flatMap(recordsOf).map((record) => keyOf(stream, record)))
    const lacks = halves.flatMap(recordsOf).some((record) => !held.has(keyOf(stream, record)))
    const hints = ['link', 'x-next-page', 'x-total-pages'].filter((name) => name in whole.headers)
    return [
      ...(lacks
        ? [harmful('a long window lacks records that its halves hold: it is cut to a page', whole.question)]
        : []),
      ...(hints.length > 0
        ? [harmful(`it names further pages, which nobody asks for: ${hints.join(', ')}`, whole.question)]
        : []),
    ]
  },
})

type FoundRecord = Period & { readonly whole: Exchange }

/** A record in the middle of the fullest answer: the outer ones may begin before the window or end after it. */
function middleRecord(stream: PulledStream, seen: Seen, isFit: (period: Period) => boolean): FoundRecord | undefined {
  const whole = richest(stream, seen)
  const fit = periodsOf(stream, whole).filter(isFit)
  const found = fit[Math.floor(fit.length / 2)]
  return whole && found && { ...found, whole }
}

/** Whether the answer holds the record; undefined where it may have been cut to a page before it. */
function holds(stream: PulledStream, answer: Exchange, { record, whole }: FoundRecord): boolean | undefined {
  const records = recordsOf(answer)
  if (records.some((other) => keyOf(stream, other) === keyOf(stream, record))) return true
  return records.length >= recordsOf(whole).length ? undefined : false
}

const shownEdge = (start: string, end: string) => ({ startDateTime: start, endDateTime: end })

const edgesPoint = (stream: PulledStream): ContractPoint => ({
  name: `${stream.name}: edges of windows`,
  specified: 'startDateTime and endDateTime are inclusive',
  requestsMax: 2,
  asks(seen) {
    const found = middleRecord(stream, seen, () => true)
    if (found === undefined) return []
    const { startMs, endMs, whole } = found
    const person = personOf(whole)
    const before = { startMs: startMs - HOUR, endMs: startMs }
    const after = { startMs: endMs, endMs: endMs + HOUR }
    return [
      windowQuestion(stream, {
        key: 'edge/end',
        person,
        window: before,
        shown: shownEdge('<an hour before>', '<the start of a record>'),
      }),
      windowQuestion(stream, {
        key: 'edge/start',
        person,
        window: after,
        shown: shownEdge('<the end of a record>', '<an hour later>'),
      }),
    ]
  },
  judge(seen) {
    const found = middleRecord(stream, seen, () => true)
    const [end, start] = [seen.answer(`${stream.name}/edge/end`), seen.answer(`${stream.name}/edge/start`)]
    if (found === undefined || end === undefined || start === undefined) return undefined
    const [hasEnd, hasStart] = [holds(stream, end, found), holds(stream, start, found)]
    if (hasEnd === undefined || hasStart === undefined) return undefined
    if (hasEnd && hasStart) return []
    if (!hasEnd && !hasStart)
      return [harmful('both are exclusive: a record at the edge of two windows is in neither', end.question)]
    return [
      hasStart
        ? harmless('endDateTime is exclusive', end.question)
        : harmless('startDateTime is exclusive', start.question),
    ]
  },
})

/** Long enough that a window fits into it. */
const isLong = ({ startMs, endMs }: Period) => endMs - startMs >= 6 * HOUR

const touchPoint = (stream: PulledStream): ContractPoint => ({
  name: `${stream.name}: records across the edge`,
  specified: 'a record is in each window that its period touches',
  requestsMax: 3,
  asks(seen) {
    const found = middleRecord(stream, seen, isLong)
    if (found === undefined) return []
    const { startMs, endMs, whole } = found
    const person = personOf(whole)
    const [third, twoThirds] = [startMs + (endMs - startMs) / 3, startMs + (2 * (endMs - startMs)) / 3].map(Math.floor)
    const windows = [
      { key: 'touch/inside', window: { startMs: third ?? 0, endMs: twoThirds ?? 0 } },
      { key: 'touch/start', window: { startMs: startMs - HOUR, endMs: third ?? 0 } },
      { key: 'touch/end', window: { startMs: twoThirds ?? 0, endMs: endMs + HOUR } },
    ]
    const shown = shownEdge('<within a record, or before>', '<within the record, or after>')
    return windows.map(({ key, window }) => windowQuestion(stream, { key, person, window, shown }))
  },
  judge(seen) {
    const found = middleRecord(stream, seen, isLong)
    const answers = ['inside', 'start', 'end'].flatMap((part) => seen.answer(`${stream.name}/touch/${part}`) ?? [])
    if (found === undefined || answers.length < 3) return undefined
    const [inside, atStart, atEnd] = answers.map((answer) => holds(stream, answer, found))
    if (inside === undefined || atStart === undefined || atEnd === undefined) return undefined
    const question = answers[0]?.question
    if (!atStart && !atEnd)
      return [harmful('only in a window that holds it whole: one across the edge of two is in neither', question)]
    if (!inside) return [harmless('not in a window within its period', question)]
    if (!atStart || !atEnd)
      return [harmless(`only in the window that holds its ${atStart ? 'start' : 'end'}`, question)]
    return []
  },
})

const repeatPoint = (stream: PulledStream): ContractPoint => ({
  name: `${stream.name}: the same question again`,
  specified: 'the same records, with the same ids, in the same bytes',
  requestsMax: 1,
  asks(seen) {
    const whole = richest(stream, seen)
    return whole === undefined ? [] : [{ ...whole.question, key: `${stream.name}/again` }]
  },
  judge(seen) {
    const [whole, again] = [richest(stream, seen), seen.answer(`${stream.name}/again`)]
    if (whole === undefined || again === undefined) return undefined
    if (whole.digest === again.digest) return []
    const idsByKey = new Map(recordsOf(whole).map((record) => [keyOf(stream, record), record['id']]))
    const known = recordsOf(again).filter((record) => idsByKey.has(keyOf(stream, record)))
    const { question } = again
    if (recordsOf(again).length > 0 && known.length * 2 < recordsOf(again).length)
      return [harmful('most records have another identity the second time', question)]
    if (known.some((record) => idsByKey.get(keyOf(stream, record)) !== record['id']))
      return [harmless('records have another id the second time: they are known by their natural key', question)]
    return [harmless('other bytes: upstream derives meanwhile, or writes its answers differently', question)]
  },
})

/** Further than the pipeline ever asks at once. */
const LONG_WINDOW_MS = 366 * DAY

const longPoint = (stream: PulledStream): ContractPoint => ({
  name: `${stream.name}: a year at once`,
  specified: 'answered like any window',
  requestsMax: 1,
  asks(seen) {
    const { endMs } = wholeWindow(stream, seen)
    const window = { startMs: endMs - LONG_WINDOW_MS, endMs }
    return seen.people > 0 ? [windowQuestion(stream, { key: 'long', person: 0, window })] : []
  },
  judge(seen) {
    const answer = seen.answer(`${stream.name}/long`)
    if (answer === undefined) return undefined
    return isOk(answer) ? [] : [harmless(`it answers ${endOf(answer)}: nobody asks for so much`, answer.question)]
  },
})

const windowPoints = [emptyPoint, longPoint, pagesPoint, edgesPoint, repeatPoint]

/** The points of one stream. Each stream of the catalogue has them; those of windows only where it has windows. */
export function streamPoints(stream: PulledStream): readonly ContractPoint[] {
  const points = stream.kind === 'windowed' ? [...recordPoints, ...listPoints, ...windowPoints] : recordPoints
  const periods = stream.endColumn === undefined ? [] : [touchPoint]
  return [answersPoint, ...points, ...periods].map((pointOf) => pointOf(stream))
}
