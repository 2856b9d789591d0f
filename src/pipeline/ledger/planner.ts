import { overlaps, type Span, subtract, totalMs, union } from '../../base/time/spans.ts'
import { DAY } from '../../base/time/units.ts'

type PlanInput = {
  /** The span to be covered. Its end is "now" for a sync, the end of the range for a backfill. */
  readonly wanted: Span
  readonly covered: readonly Span[]
  /** Spans that must not be asked for yet: refused a short while ago, or still being derived upstream. */
  readonly blocked: readonly Span[]
  /** The longest window that one request may ask for. */
  readonly sizeMs: number
  /** The windows whose answers upstream tagged. Absent where upstream gives no tags. */
  readonly tagged?: TaggedWindows | undefined
  /** How many windows one plan may hold. The windows beyond are due again next time. */
  readonly windowsMax: number
}

type TaggedWindows = {
  /** Windows whose tags are held: asked for again exactly as they were, they cost next to nothing if nothing has changed. */
  readonly windows: readonly Span[]
  /** How far beyond the wanted end a new window may reach, so that the same window can be asked for again on the following days. */
  readonly aheadMs: number
}

/** The due windows: wanted less covered less blocked, cut to windows, newest first, none of them empty. */
export function dueWindows(input: PlanInput): Span[] {
  const due = subtract(subtract([input.wanted], union(input.covered)), union(input.blocked))
  const windows = input.tagged ? cutAlongTags(due, input, input.tagged) : cutAll(due, input)
  return windows.slice(0, input.windowsMax)
}

const cutAll = (due: readonly Span[], { sizeMs }: PlanInput): Span[] =>
  due.toReversed().flatMap((span) => cut(span, sizeMs))

/** How much of a window with a tag may lie outside of the due spans: if the window has changed, all of it is read again. */
const BESIDE_DUE_MAX_MS = 8 * DAY

/** Asks for windows with tags as they were asked for before, and cuts the rest into windows that can be asked for again unchanged. */
function cutAlongTags(due: readonly Span[], input: PlanInput, { windows, aheadMs }: TaggedWindows): Span[] {
  const again: Span[] = []
  const newestFirst = windows.toSorted((a, b) => b.endMs - a.endMs || a.startMs - b.startMs)
  for (const window of newestFirst) {
    if ([...again, ...input.blocked].some((other) => overlaps(other, window))) continue
    if (due.some((span) => mayServe(window, span))) again.push(window)
  }
  const rest = subtract(due, union(again)).map((span) => (span.endMs === input.wanted.endMs ? kept(span) : span))
  return [...again, ...cutAll(rest, input)].sort((a, b) => b.endMs - a.endMs)

  /** Extends the window to midnights, where no blocked span is in the way. */
  function kept(span: Span): Span {
    if (aheadMs === 0) return span
    const midnightMs = Math.floor(span.startMs / DAY) * DAY
    const isFree = midnightMs >= input.wanted.startMs && !touchesAny({ startMs: midnightMs, endMs: span.startMs })
    const endMs = Math.ceil(span.endMs / DAY) * DAY + aheadMs
    const isOpen = !input.blocked.some((blocked) => blocked.endMs > span.endMs)
    return { startMs: isFree ? midnightMs : span.startMs, endMs: isOpen ? endMs : span.endMs }
  }

  function touchesAny(span: Span): boolean {
    return [...input.blocked, ...again, ...due].some((other) => overlaps(other, span))
  }
}

/** A window that lies within what is due, or holds all of it and not much more. */
function mayServe(window: Span, due: Span): boolean {
  if (window.startMs >= due.startMs && window.endMs <= due.endMs) return true
  const holdsAll = window.startMs <= due.startMs && window.endMs >= due.endMs
  return holdsAll && totalMs([window]) - totalMs([due]) <= BESIDE_DUE_MAX_MS
}

/**
 * Cuts from the newest end, at UTC midnights: the newest window holds the open day, the older windows are whole days.
 * Cutting at midnights keeps records that are dated by day from lying across two windows, as far as that can be.
 */
function cut(span: Span, sizeMs: number): Span[] {
  const windows: Span[] = []
  for (let endMs = span.endMs; endMs > span.startMs; ) {
    const earliestMs = endMs - sizeMs
    const midnightMs = Math.ceil(earliestMs / DAY) * DAY
    const startMs = Math.max(span.startMs, midnightMs < endMs ? midnightMs : earliestMs)
    windows.push({ startMs, endMs })
    endMs = startMs
  }
  return windows
}
