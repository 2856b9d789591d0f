import { type Span, subtract, union } from '../time/spans.ts'
import { DAY } from '../time/units.ts'

type PlanInput = {
  /** The span to be covered. Its end is "now" for a sync, the end of the range for a backfill. */
  readonly wanted: Span
  readonly covered: readonly Span[]
  /** Spans that must not be asked for yet: refused a short while ago, or still being derived upstream. */
  readonly blocked: readonly Span[]
  /** The longest window that one request may ask for. */
  readonly sizeMs: number
  /** How many windows one plan may hold. The windows beyond are due again next time. */
  readonly windowsMax: number
}

/** The due windows: wanted less covered less blocked, cut to windows, newest first, none of them empty. */
export function dueWindows(input: PlanInput): Span[] {
  const due = subtract(subtract([input.wanted], union(input.covered)), union(input.blocked))
  const windows = due.reverse().flatMap((span) => cut(span, input.sizeMs))
  return windows.slice(0, input.windowsMax)
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
