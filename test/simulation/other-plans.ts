import { overlaps, type Span, subtract } from '../../src/base/time/spans.ts'
import { DAY } from '../../src/base/time/units.ts'
import { dueWindows } from '../../src/pipeline/ledger/planner.ts'
import { UNIT } from './circumstances.ts'
import { violationsOfPlan } from './plan-promises.ts'

type PlanInput = Parameters<typeof dueWindows>[0]

const WINDOWS_FEW = 2

/** The ledger of a world, planned with other settings than those of its processes. Returns the promises that a plan breaks. */
export function violationsOfOtherPlans(input: PlanInput, windows: readonly Span[]): string[] {
  const others = [
    { ...input, sizeMs: UNIT },
    { ...input, sizeMs: 5 * UNIT },
    { ...input, windowsMax: WINDOWS_FEW },
  ]
  return [
    ...others.flatMap((other) => violationsOfPlan(other, dueWindows(other))),
    ...violationsOfNextDay(input, windows),
  ]
}

/** A day later the newest window is asked for as it was, if all else is covered and nothing of it must not be asked for. */
function violationsOfNextDay(input: PlanInput, windows: readonly Span[]): string[] {
  const [newest] = windows
  const aheadMs = input.tagged?.aheadMs ?? 0
  const wanted = { ...input.wanted, endMs: input.wanted.endMs + DAY }
  if (!newest || aheadMs === 0 || newest.startMs >= input.wanted.endMs || newest.endMs < wanted.endMs) return []
  if (input.blocked.some((span) => overlaps(span, newest))) return []
  const covered = subtract([wanted], [newest])
  const [again] = dueWindows({ ...input, wanted, covered, tagged: { windows, aheadMs } })
  const isSame = again?.startMs === newest.startMs && again.endMs === newest.endMs
  return isSame ? [] : ['the newest window is asked for in another form a day later']
}
