import type { Reading, Witnessed, WitnessedReading } from './history.ts'
import { eventsOf, namesById, type RunSeen, type Violation } from './rules.ts'

/**
 * A push is read back: once it was marked as sent, only readings that were requested afterwards cover time of the streams that
 * it touches.
 */
export function checkReadBack(run: RunSeen): Violation[] {
  const names = namesById(run)
  const keyOf = (profile: string | undefined, stream: string) => `${stream} of ${profile}`
  const readings = Map.groupBy(eventsOf(run.events, 'reading'), ({ profile, stream }) => keyOf(profile, stream))
  const isLedger = (row: Witnessed): row is WitnessedReading => row.kind === 'ledger'
  const rows = run.final.witnessed.filter(isLedger)
  const perStream = Map.groupBy(rows, ({ profileId, stream }) => keyOf(names.get(profileId), stream))
  return [...perStream].flatMap(([text, its]) => {
    const answers = readings.get(text)
    return answers ? checkStream(text, its, answers) : [] // the proxy notes no answers of streams without windows
  })
}

function checkStream(text: string, rows: readonly WitnessedReading[], answers: readonly Reading[]): Violation[] {
  let touchedAtMs = Number.NEGATIVE_INFINITY
  let known: WitnessedReading['recent'] = []
  return rows.flatMap(({ recent, touched, grew, atMs }) => {
    const added = recent.filter((one) => !known.some((other) => isSame(one, other)))
    known = recent
    if (touched) touchedAtMs = Math.floor(atMs)
    const isAskedSince = ({ startMs, endMs, sentAtMs, answeredAtMs }: Reading) =>
      sentAtMs >= touchedAtMs &&
      answeredAtMs <= atMs &&
      added.some((window) => window[0] === startMs && window[1] === endMs)
    if (!grew || answers.some(isAskedSince)) return []
    return [{ rule: 'covered by an outdated reading', text: `${text} at ${atMs}, touched at ${touchedAtMs}` }]
  })
}

type Recent = WitnessedReading['recent'][number]

const isSame = (one: Recent, other: Recent): boolean =>
  one[0] === other[0] && one[1] === other[1] && one[2] === other[2]
