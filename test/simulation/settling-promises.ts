import type { Span } from '../../src/base/time/spans.ts'
import type { AwaitingPart, SettleRule } from '../../src/pipeline/ledger/awaiting-upstream.ts'
import type { CoverageChange } from '../../src/pipeline/ledger/judge.ts'
import type { ModelReading } from './model-reading.ts'

/** The effect of one reading on the spans that settle, and all that it was decided by. */
export type SettledInModel = {
  readonly reading: ModelReading
  readonly rule: SettleRule
  readonly firstChangeMs: number | undefined
  readonly before: { readonly covered: readonly Span[]; readonly parts: readonly AwaitingPart[] }
  readonly settled: CoverageChange
  /** The days around silent differences. */
  readonly suspect: readonly Span[]
  readonly after: {
    readonly covered: readonly Span[]
    readonly parts: readonly AwaitingPart[]
    readonly readAgainAtMs: number
  }
}

/** Above this the ledger joins parts, and an instant's state is no longer its own. */
const PARTS_MAX = 64

type State = Omit<AwaitingPart, keyof Span>

const holds = ({ startMs, endMs }: Span, ms: number) => startMs <= ms && ms < endMs
const stateAt = (parts: readonly AwaitingPart[], ms: number): State | undefined => parts.find((one) => holds(one, ms))
const intervalOf = ({ intervalsMs }: SettleRule, index: number) => intervalsMs.at(index) ?? intervalsMs.at(-1) ?? 0
const ageOf = ({ isSuspect }: State, { settleMs }: SettleRule) => (isSuspect ? 0 : settleMs)

/** When a span in this state is read again: by its intervals, and once it is old enough by the second one. */
function nextLookAt(state: State, rule: SettleRule): number {
  const { touchedAtMs, readAtMs, readings } = state
  if (readAtMs === null) return touchedAtMs + intervalOf(rule, 0)
  const leastMs = Math.min((readAtMs - touchedAtMs) / 16, rule.intervalsMs.at(-1) ?? 0)
  const byIntervals = readAtMs + Math.max(intervalOf(rule, readings), leastMs)
  const byAge = Math.max(touchedAtMs + ageOf(state, rule), readAtMs + Math.max(intervalOf(rule, 1), leastMs))
  return Math.min(byIntervals, byAge)
}

type Known = { readonly knownAtMs: number; readonly settledUntilMs: number }

function knownBy({ sentAtMs, serverAtMs }: ModelReading, { settleMs }: SettleRule): Known {
  const knownAtMs = serverAtMs === undefined ? sentAtMs : Math.min(serverAtMs, sentAtMs)
  return { knownAtMs, settledUntilMs: knownAtMs - settleMs }
}

/** The state of an instant within the window after the reading; undefined: nothing is awaited there any more. */
function stateAfter(state: State | undefined, { reading, rule, firstChangeMs }: SettledInModel): State | undefined {
  const { sentAtMs, word, mayCover } = reading
  const { knownAtMs, settledUntilMs } = knownBy(reading, rule)
  if (!state || (word === 'finished' && mayCover)) return undefined
  const countsFromMs = state.readAtMs ?? nextLookAt(state, rule)
  if (sentAtMs < countsFromMs) return state
  const hasChanged = firstChangeMs !== undefined && firstChangeMs <= settledUntilMs
  if (hasChanged || word === 'pending') return { ...state, readAtMs: sentAtMs, readings: 1 }
  const halfwayMs = state.readAtMs === null ? sentAtMs : (state.readAtMs + nextLookAt(state, rule)) / 2
  if (!mayCover || sentAtMs < halfwayMs) return state
  if (state.readings > 0 && knownAtMs >= state.touchedAtMs + ageOf(state, rule)) return undefined
  return { ...state, readAtMs: sentAtMs, readings: state.readings + 1 }
}

type Instant = { readonly state: State | undefined; readonly isCovered: boolean }

/** The state that one instant must have, said without any arithmetic of spans. */
function expectedAt(ms: number, made: SettledInModel): Instant {
  const { reading, rule, before, suspect } = made
  const { window, mayCover, word, sentAtMs } = reading
  const isRead = holds(window, ms)
  const wasCovered = before.covered.some((span) => holds(span, ms))
  let state = isRead ? stateAfter(stateAt(before.parts, ms), made) : stateAt(before.parts, ms)
  const hasSettled = isRead && mayCover && ms < knownBy(reading, rule).settledUntilMs
  let isCovered = wasCovered || (hasSettled && word !== 'pending' && state === undefined)
  if (hasSettled && word === 'pending') {
    isCovered = false
    state ??= { touchedAtMs: sentAtMs, readAtMs: sentAtMs, readings: 1 }
  }
  if (suspect.some((span) => holds(span, ms))) {
    isCovered = false
    const isOwn = state !== undefined && !state.isSuspect
    if (!isOwn && ms < sentAtMs) state = { touchedAtMs: sentAtMs, readAtMs: null, readings: 0, isSuspect: true }
  }
  return { state, isCovered }
}

/** Each instant at which something may begin or end, the one before it, and one between each two. */
function instantsOf({ reading, rule, before, suspect, after }: SettledInModel): number[] {
  const spans = [reading.window, ...before.covered, ...before.parts, ...after.covered, ...after.parts, ...suspect]
  const { settledUntilMs } = knownBy(reading, rule)
  const edges = spans.flatMap(({ startMs, endMs }) => [startMs, endMs])
  const finite = [...edges, settledUntilMs, reading.sentAtMs].filter(Number.isFinite).sort((a, b) => a - b)
  return [...new Set(finite.flatMap((ms, index) => [ms - 1, ms, Math.floor((ms + (finite[index + 1] ?? ms + 2)) / 2)]))]
}

const textOf = (state: State | undefined) =>
  state
    ? `touched ${state.touchedAtMs}, read ${state.readAtMs} ${state.readings} times${state.isSuspect ? ', suspect' : ''}`
    : 'awaited no more'

/** The promises about one reading's settling that are broken. */
export function violationsOfSettling(made: SettledInModel): string[] {
  const { after, before, reading, rule } = made
  if (before.parts.length > PARTS_MAX - 4 || after.parts.length > PARTS_MAX - 4) return []
  const wrong = instantsOf(made).flatMap((ms) => {
    const expected = expectedAt(ms, made)
    const state = stateAt(after.parts, ms)
    const isCovered = after.covered.some((span) => holds(span, ms))
    return [
      ...(textOf(state) === textOf(expected.state) ? [] : [`${ms} is ${textOf(state)}, not ${textOf(expected.state)}`]),
      ...(isCovered === expected.isCovered ? [] : [`${ms} is ${isCovered ? '' : 'not '}covered`]),
    ]
  })
  const looks = after.parts.map((part) => nextLookAt(part, rule)).filter((ms) => ms > reading.sentAtMs)
  const nextMs = looks.length === 0 ? Number.NEGATIVE_INFINITY : Math.ceil(Math.min(...looks))
  return [
    ...wrong.slice(0, 3).map((text) => `after a reading ${text}`),
    ...(after.readAgainAtMs === nextMs ? [] : [`the next look is at ${after.readAgainAtMs}, not at ${nextMs}`]),
    ...partsApart(after.parts),
  ]
}

/** Neighbours in one state are one part. */
function partsApart(parts: readonly AwaitingPart[]): string[] {
  const sorted = parts.toSorted((a, b) => a.startMs - b.startMs)
  const isJoinable = sorted.some((part, index) => {
    const next = sorted[index + 1]
    return next && (part.endMs > next.startMs || (part.endMs === next.startMs && textOf(part) === textOf(next)))
  })
  return isJoinable ? ['two parts of what is read again are one, or overlap'] : []
}
