import {
  type Admission,
  READING_AGE_MAX_MS,
  type RecentWindow,
  type WindowEdges,
} from '../../src/pipeline/ledger/judge.ts'
import type { Reading } from '../../src/pipeline/transfer/reading.ts'

type Judged = {
  readonly request: Reading
  readonly edges: WindowEdges
  /** The ledger row before the reading. */
  readonly row: { readonly generation: number; readonly recent: readonly RecentWindow[] }
  readonly nowMs: number
  readonly verdict: Admission
}

const keyOf = ({ startMs, endMs, sentAtMs, crossingHashes, reachesBack }: RecentWindow) =>
  [startMs, endMs, sentAtMs, crossingHashes.join('+'), reachesBack].join(' ')

/** The promises about the order of readings that a verdict breaks: its rules, said once more. */
export function violationsOfAdmission({ request, edges, row, nowMs, verdict }: Judged): string[] {
  const { window, sentAtMs, generation, word, stream } = request
  const isSnapshot = stream.kind === 'snapshot'
  const later = row.recent.filter((read) => read.sentAtMs > sentAtMs)
  const speaksOfIt = (read: RecentWindow) =>
    isSnapshot || !(read.endMs <= window.startMs || window.endMs <= read.startMs)
  const isOvertaken = later.some(speaksOfIt)
  const isTied = row.recent.some((read) => read.sentAtMs === sentAtMs && speaksOfIt(read))
  const own = keyOf({ ...window, sentAtMs, ...edges })
  const kept = row.recent.filter((read) => {
    if (read.sentAtMs < nowMs - READING_AGE_MAX_MS) return false
    if (read.sentAtMs > sentAtMs) return true
    if (isSnapshot) return false
    const isWithin = window.startMs <= read.startMs && read.endMs <= window.endMs
    // Beside a newer reading of this window's time an older one is still needed: a record may reach across.
    return !isWithin || later.some((newer) => newer.startMs <= window.endMs && window.startMs <= newer.endMs)
  })
  const claims: ReadonlyArray<readonly [boolean, string]> = [
    [sentAtMs >= nowMs - READING_AGE_MAX_MS, 'it is too old'],
    [sameKeys(verdict.newer, later), 'its newer readings are others'],
    [verdict.complete === (!isOvertaken && word !== 'pending'), `it is ${verdict.complete ? '' : 'not '}complete`],
    [
      verdict.mayCover === (!isOvertaken && !isTied && generation === row.generation),
      `it may ${verdict.mayCover ? '' : 'not '}cover`,
    ],
    [verdict.recent.map(keyOf).sort().join() === [...kept.map(keyOf), own].sort().join(), 'others are remembered'],
  ]
  return claims.flatMap(([holds, what]) => (holds ? [] : [`a reading was judged wrongly: ${what}`]))
}

const sameKeys = (some: readonly RecentWindow[], others: readonly RecentWindow[]): boolean =>
  some.map(keyOf).sort().join() === others.map(keyOf).sort().join()
