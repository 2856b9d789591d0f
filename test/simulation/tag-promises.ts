import { overlaps, type Span, subtract, totalMs, union } from '../../src/base/time/spans.ts'
import { DAY } from '../../src/base/time/units.ts'
import type { dueWindows } from '../../src/pipeline/ledger/planner.ts'

type PlanInput = Parameters<typeof dueWindows>[0]
type TaggedInput = PlanInput & { readonly tagged: NonNullable<PlanInput['tagged']> }

/** How much of a tagged window may lie outside of the due span that it answers. */
const BESIDE_DUE_MAX_MS = 8 * DAY

const text = (spans: readonly Span[]) => spans.map(({ startMs, endMs }) => `[${startMs}, ${endMs})`).join(' ')
const isSame = (a: Span, b: Span) => a.startMs === b.startMs && a.endMs === b.endMs
const midnightBefore = (ms: number) => Math.floor(ms / DAY) * DAY
const midnightAfter = (ms: number) => Math.ceil(ms / DAY) * DAY

/** The promises of a plan for a stream whose answers carry tags that this plan breaks. It holds all windows that are due. */
export function violationsOfTags(input: TaggedInput, windows: readonly Span[], due: readonly Span[]): string[] {
  const serving = input.tagged.windows.filter((window) => due.some((span) => serves(window, span)))
  const again = windows.filter((window) => serving.some((tagged) => isSame(tagged, window)))
  return [...tagsLeftUnused(input, serving, again), ...violationsOfNewest(input, { windows, again, due })]
}

/** A window whose tag is held costs next to nothing: it is asked for as it was wherever it serves, the newest first. */
function tagsLeftUnused({ blocked }: TaggedInput, serving: readonly Span[], again: readonly Span[]): string[] {
  const hasPrecedence = (other: Span, window: Span) =>
    other.endMs > window.endMs || (other.endMs === window.endMs && other.startMs <= window.startMs)
  return serving
    .filter((window) => !blocked.some((span) => overlaps(span, window)))
    .filter((window) => !again.some((other) => overlaps(other, window) && hasPrecedence(other, window)))
    .map((window) => `the plan does not use the tag of ${text([window])}`)
}

const serves = (window: Span, span: Span) => isWithin(window, span) || holdsLittleMore(window, span)

const isWithin = (window: Span, span: Span) => window.startMs >= span.startMs && window.endMs <= span.endMs

const holdsLittleMore = (window: Span, span: Span) =>
  isWithin(span, window) && totalMs([window]) - totalMs([span]) <= BESIDE_DUE_MAX_MS

type Planned = { readonly windows: readonly Span[]; readonly again: readonly Span[]; readonly due: readonly Span[] }

/** The newest span reaches from midnight to midnight, so that its windows can be asked for again as they are. */
function violationsOfNewest({ tagged, blocked, wanted }: TaggedInput, { windows, again, due }: Planned): string[] {
  const newest = subtract(due, union(again)).at(-1)
  if (!newest || newest.endMs !== wanted.endMs || tagged.aheadMs === 0) return []
  const before = { startMs: midnightBefore(newest.startMs), endMs: newest.startMs }
  const isFree =
    before.startMs >= wanted.startMs && ![...blocked, ...again, ...due].some((one) => overlaps(one, before))
  const isOpen = blocked.every((span) => span.endMs <= wanted.endMs)
  const best = {
    startMs: isFree ? before.startMs : newest.startMs,
    endMs: isOpen ? midnightAfter(wanted.endMs) + tagged.aheadMs : wanted.endMs,
  }
  const own = windows.filter((window) => !again.includes(window) && window.endMs > best.startMs)
  const [asked = best] = union(own)
  return isSame(asked, best) && own.length > 0
    ? []
    : [`the newest span is asked for as ${text([asked])}, and could be as ${text([best])}`]
}
