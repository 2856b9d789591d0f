import { isInside } from './check-readings.ts'
import type { Reading, Witnessed, WitnessedReading, WitnessedRecord } from './history.ts'
import { eventsOf, namesById, type RunSeen, type Violation } from './rules.ts'

/**
 * Whenever time becomes covered, a reading of it was requested after the last push that touched the stream, and the records of
 * its answer are stored by then.
 */
export function checkReadBack(run: RunSeen): Violation[] {
  const names = namesById(run)
  const keyOf = (profile: string | undefined, stream: string) => `${stream} of ${profile}`
  const readings = Map.groupBy(eventsOf(run.events, 'reading'), ({ profile, stream }) => keyOf(profile, stream))
  const rows = run.final.witnessed.filter(isOfStream)
  const perStream = Map.groupBy(rows, ({ profileId, stream }) => keyOf(names.get(profileId), stream))
  return [...perStream].flatMap(([text, its]) => {
    const answers = readings.get(text)
    return answers ? checkStream(text, its, answers) : [] // the proxy notes no answers of streams without windows
  })
}

type StreamRow = WitnessedReading | WitnessedRecord

const isOfStream = (row: Witnessed): row is StreamRow => row.kind === 'ledger' || row.kind === 'record'

function checkStream(text: string, rows: readonly StreamRow[], answers: readonly Reading[]): Violation[] {
  const stored = new Map<string, string>()
  let touchedAtMs = Number.NEGATIVE_INFINITY
  let known: WitnessedReading['recent'] = []
  const found: Violation[] = []
  for (const row of rows) {
    if (row.kind === 'record') {
      if (row.gone) stored.delete(row.record.key)
      else stored.set(row.record.key, row.record.digest)
      continue
    }
    const added = row.recent.filter((one) => !known.some((other) => isSame(one, other)))
    known = row.recent
    if (row.touched) touchedAtMs = Math.floor(row.atMs)
    if (!row.grew) continue
    const since = answers.filter((answer) => isAnswerOf(answer, added, { sinceMs: touchedAtMs, untilMs: row.atMs }))
    const when = `${text} at ${row.atMs}, touched at ${touchedAtMs}`
    if (since.length === 0) found.push({ rule: 'covered by an outdated reading', text: when })
    else if (!since.some((answer) => isStored(answer, stored))) found.push({ rule: 'covered without rows', text: when })
  }
  return found
}

type Recent = WitnessedReading['recent']

const isSame = (one: Recent[number], other: Recent[number]): boolean =>
  one[0] === other[0] && one[1] === other[1] && one[2] === other[2]

const isAnswerOf = (
  { startMs, endMs, sentAtMs, answeredAtMs }: Reading,
  recent: Recent,
  { sinceMs, untilMs }: { sinceMs: number; untilMs: number },
): boolean =>
  sentAtMs >= sinceMs &&
  answeredAtMs <= untilMs &&
  recent.some(([start, end]) => Math.floor(start) === startMs && Math.floor(end) === endMs) // requests have whole milliseconds

const isStored = (answer: Reading, stored: ReadonlyMap<string, string>): boolean =>
  new Map(answer.records.filter((record) => isInside(record, answer)).map(({ key, digest }) => [key, digest]))
    .entries()
    .every(([key, digest]) => stored.get(key) === digest)
