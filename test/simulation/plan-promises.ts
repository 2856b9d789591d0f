import { type Span, subtract, totalMs, union } from '../../src/base/time/spans.ts'
import { DAY } from '../../src/base/time/units.ts'
import type { dueWindows } from '../../src/pipeline/ledger/planner.ts'
import { violationsOfTags } from './tag-promises.ts'

type PlanInput = Parameters<typeof dueWindows>[0]

/** How much of a tagged window may lie outside of what is due. */
const BESIDE_DUE_MAX_MS = 8 * DAY

const text = (spans: readonly Span[]) => spans.map(({ startMs, endMs }) => `[${startMs}, ${endMs})`).join(' ')

/** The promises of every plan, by whatever rule it is cut, that this one breaks. */
export function violationsOfPlan(input: PlanInput, windows: readonly Span[]): string[] {
  const { covered, blocked, wanted, windowsMax } = input
  const due = subtract(subtract([wanted], union(covered)), union(blocked))
  const asked = union(windows)
  const leftOut = subtract(due, asked)
  const isFull = windows.length === windowsMax
  // A full plan leaves out only spans that are older than its windows.
  const missing = isFull ? leftOut.filter(({ endMs }) => endMs > (windows.at(-1)?.startMs ?? 0)) : leftOut
  return [
    ...claim(windows.length <= windowsMax, () => `the plan has ${windows.length} windows, and may have ${windowsMax}`),
    ...claim(missing.length === 0, () => `the plan leaves out ${text(missing)} of what is due`),
    ...claim(totalMs(asked) === totalMs(windows), () => `the plan asks twice for a span: ${text(windows)}`),
    ...claim(
      windows.every(({ startMs, endMs }) => startMs < endMs),
      () => `the plan has an empty window: ${text(windows)}`,
    ),
    ...claim(isNewestFirst(windows), () => `the newest window is not the first: ${text(windows)}`),
    ...claim(
      asksForNothingBlocked(input, windows),
      () => `the plan asks for what must not be asked for: ${text(windows)}`,
    ),
    ...windows.flatMap((window) => violationsOfWindow(window, due, input)),
    ...violationsOfCuts(input, windows, due),
    ...(input.tagged && !isFull ? violationsOfTags({ ...input, tagged: input.tagged }, windows, due) : []),
  ]
}

/** The text is made for a broken promise only: most of them hold. */
const claim = (holds: boolean, violation: () => string): string[] => (holds ? [] : [violation()])

const isNewestFirst = (windows: readonly Span[]) =>
  windows.every((window, index) => index === 0 || window.endMs <= (windows[index - 1]?.startMs ?? 0))

const asksForNothingBlocked = ({ blocked }: PlanInput, windows: readonly Span[]): boolean =>
  totalMs(subtract(union(windows), union(blocked))) === totalMs(union(windows))

/** A window is one that upstream tagged, asked for as it was; or a part of what is due, cut at midnights. */
function violationsOfWindow(window: Span, due: readonly Span[], { tagged, sizeMs, wanted }: PlanInput): string[] {
  const isSame = (one: Span) => one.startMs === window.startMs && one.endMs === window.endMs
  const besideMs = totalMs(subtract([window], due))
  // The newest window may reach to a later midnight, so that it can be asked for again as it is.
  const aheadMs = tagged?.aheadMs ?? 0
  // Where windows are as short as the time ahead, some lie in it wholly.
  const isPartlyDue = besideMs < totalMs([window]) || sizeMs <= aheadMs + 2 * DAY
  if (tagged?.windows.some(isSame))
    return claim(besideMs <= BESIDE_DUE_MAX_MS && isPartlyDue, () => `little of ${text([window])} is due`)
  const lastMs = aheadMs > 0 ? Math.ceil(wanted.endMs / DAY) * DAY + aheadMs : wanted.endMs
  const firstMs = aheadMs > 0 ? Math.floor(wanted.startMs / DAY) * DAY : wanted.startMs
  const beyond = subtract([window], [{ startMs: firstMs, endMs: lastMs }])
  const startsWell = window.startMs % DAY === 0 || due.some(({ startMs }) => startMs === window.startMs)
  const isBesideTags = tagged?.windows.some(({ endMs }) => endMs === window.startMs) ?? false
  return [
    ...claim(totalMs([window]) <= sizeMs, () => `${text([window])} is longer than a request may ask for`),
    ...claim(beyond.length === 0, () => `${text([window])} lies beyond what is wanted`),
    ...claim(aheadMs > 0 || besideMs === 0, () => `${text([window])} is not due`),
    ...claim(isPartlyDue, () => `nothing of ${text([window])} is due`),
    ...claim(startsWell || isBesideTags || sizeMs < DAY, () => `${text([window])} begins at no midnight`),
  ]
}

/** Where a due span is cut, the newer window reaches back to the earliest midnight that its size allows. */
function violationsOfCuts({ tagged, sizeMs }: PlanInput, windows: readonly Span[], due: readonly Span[]): string[] {
  const isTagged = (window: Span) =>
    tagged?.windows.some(({ startMs, endMs }) => startMs === window.startMs && endMs === window.endMs) ?? false
  return windows.flatMap((window, index) => {
    const older = windows[index + 1]
    const isCut = due.some(({ startMs, endMs }) => startMs < window.startMs && window.startMs < endMs)
    if (!older || !isCut || isTagged(window) || isTagged(older)) return []
    const earliestMs = window.endMs - sizeMs
    const midnightMs = Math.ceil(earliestMs / DAY) * DAY
    const bestMs = midnightMs < window.endMs ? midnightMs : earliestMs
    return claim(window.startMs === bestMs, () => `${text([window])} could begin at ${bestMs}`)
  })
}
