import type { Span } from '../../src/base/time/spans.ts'
import { requestHashOf, taggedSpanOf } from '../../src/pipeline/transfer/tagged-window.ts'
import type { ModelReading } from './model-reading.ts'
import type { ModelChanges } from './model-records.ts'
import type { HeldTag, LedgerRow, ModelProfile } from './model-state.ts'
import { type ModelRecord, periodOf } from './records.ts'

/** Keeps the tag of a reading, and drops the tags of windows whose stored records it changed. */
export function changeModelTags(
  here: ModelProfile,
  row: LedgerRow,
  reading: ModelReading,
  changes: ModelChanges,
): void {
  const { stream, window, edges, complete, mayCover, believed, newer } = reading
  const tag = complete && mayCover && believed && newer.length === 0 ? reading.tag : undefined
  if (reading.unchanged || (!row.tagged && tag === undefined)) return
  const span = taggedSpanOf(stream, window)
  const touched = touchedSpan(reading, changes)
  const isSame = (one: HeldTag) => one.startMs === span.startMs && one.endMs === span.endMs
  const isTouched = (one: HeldTag) =>
    touched !== undefined && one.startMs <= touched.endMs && one.endMs >= touched.startMs
  const isDropped = (one: HeldTag) => (isSame(one) ? tag === undefined : !row.tagged || isTouched(one))
  const kept = here.tags.filter((one) => one.stream !== stream.name || !isDropped(one))
  if (tag === undefined) {
    here.tags = kept
    return
  }
  const own = { ...span, stream: stream.name, tag, requestHash: requestHashOf(stream, window), edges }
  here.tags = [...kept.filter((one) => one.stream !== stream.name || !isSame(one)), own]
  row.tagged = true
}

/** The span of the records that a reading wrote, or may have marked gone. */
function touchedSpan(reading: ModelReading, changes: ModelChanges): Span | undefined {
  const { stream, window, reachBackToMs, believed } = reading
  if (stream.kind === 'snapshot') return undefined
  const longest = (one: ModelRecord): Span => {
    const { startMs, endMs } = periodOf(one)
    return { startMs, endMs: Math.max(endMs, startMs + (stream.longestMs ?? 0)) }
  }
  const whole = changes.vanished.length > 0 || !believed ? [{ startMs: reachBackToMs, endMs: window.endMs }] : []
  const spans = [...changes.added.map(periodOf), ...changes.changed.map(longest), ...whole]
  if (spans.length === 0) return undefined
  return {
    startMs: Math.min(...spans.map(({ startMs }) => startMs)),
    endMs: Math.max(...spans.map(({ endMs }) => endMs)),
  }
}
