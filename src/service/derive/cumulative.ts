import { SECOND } from '../../window.ts'
import type { DaySource } from './day-source.ts'
import { dayAt, midnightAt } from './local-time.ts'
import type { Log, Trace } from './log.ts'
import { type Span, subtract, totalMs, touches, union } from './spans.ts'
import { sweep } from './sweep.ts'

/** The share of one log that counts for a stretch of time. */
export type Amount = Span & { readonly log: Log; readonly value: number }

/** A log, or what its children leave of it. An instant is given a second, so that it has a length to be shared by. */
type Piece = Span & { readonly log: Log; readonly value: number }

/**
 * What a summed kind (steps, floors, energy) comes to on one local day, piece by piece. Where logs overlap the best
 * ranked one counts for that moment and the others give way for just that moment; an interval across midnight is shared
 * out by time. Logs that say nothing happened compete with none: a watch on the table does not undo the phone's steps.
 */
export function amountsOn({ shelf, day, better, trace }: DaySource, dataType: string): Amount[] {
  const near = shelf.around(day, dataType).filter((log) => log.value > 0)
  const own = near.filter((log) => touchesDay(log, day))
  if (own.length === 0) return []
  const reach = {
    startAt: Math.min(...own.map((log) => log.startAt)),
    endAt: Math.max(...own.map((log) => log.endAt + SECOND)),
  }
  const pieces = withoutChildren(near.filter((log) => touches(spanOf(log), reach)))
  const amounts: Amount[] = []
  for (const { startAt, endAt, of } of sweep(pieces, (a, b) => better(a.log, b.log) || a.startAt - b.startAt)) {
    const from = Math.max(startAt, midnightAt(day, of.log.startOffset))
    const to = Math.min(endAt, midnightAt(day + 1, of.log.startOffset))
    if (from >= to) continue
    amounts.push({ startAt: from, endAt: to, log: of.log, value: (of.value * (to - from)) / (of.endAt - of.startAt) })
  }
  if (trace) tell(trace, dataType, { logs: own, amounts })
  return amounts
}

function spanOf(log: Log): Span {
  return { startAt: log.startAt, endAt: Math.max(log.endAt, log.startAt + SECOND) }
}

function touchesDay(log: Log, day: number): boolean {
  const first = dayAt(log.startAt, log.startOffset)
  const last = dayAt(Math.max(log.startAt, log.endAt - 1), log.startOffset)
  return first <= day && day <= last
}

/** A parent gives what its children of the same kind leave: their sum taken off, spread over the time they leave free. */
function withoutChildren(logs: readonly Log[]): Piece[] {
  const children = new Map<string, Log[]>()
  for (const log of logs) {
    if (log.parentId === null) continue
    const siblings = children.get(log.parentId)
    if (siblings) siblings.push(log)
    else children.set(log.parentId, [log])
  }
  return logs.flatMap((log) => {
    const own = children.get(log.id)
    const whole = spanOf(log)
    if (!own) return [{ ...whole, log, value: log.value }]
    const left = log.value - own.reduce((sum, child) => sum + child.value, 0)
    const free = subtract([whole], union(own.map(spanOf)))
    const freeMs = totalMs(free)
    if (left <= 0) return []
    return free.map((span) => ({ ...span, log, value: (left * (span.endAt - span.startAt)) / freeMs }))
  })
}

type Resolved = { logs: readonly Log[]; amounts: readonly Amount[] }

function tell(trace: Trace, dataType: string, { logs, amounts }: Resolved): void {
  const counted = new Map<Log, number>()
  for (const { log, value } of amounts) counted.set(log, (counted.get(log) ?? 0) + value)
  for (const log of logs) {
    const amount = counted.get(log)
    if (amount !== undefined) trace.used(log, dataType, amount)
    else trace.left(log, dataType, 'a better ranked log, or its own children, cover the same time')
  }
}
