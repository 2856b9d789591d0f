import { BEGIN, HISTORY, LONGEST, SETTLE, type StreamName, UNIT } from './circumstances.ts'
import type { Truth } from './records.ts'
import type { Chance } from './stage.ts'

/** Records as long as life. Every answer of an upstream that gives records which touch a window holds one. */
const lifelong = { biomarkers: 0, tags: 100 } as const
const LIFE = { startMs: 0, endMs: BEGIN + 4000 * UNIT }
export const isLifelong = ({ name }: Pick<Truth, 'name'>): boolean => Object.values<number>(lifelong).includes(name)

/** Few, so that what changes often changes back. */
export const VALUES = 3
/** Up to this name a record's end is part of its key. */
const MARKERS = 4
const PERIODS = 7
const INSTANTS = 3
const SNAPSHOT = PERIODS + INSTANTS + 1

const record = (
  name: number,
  stream: StreamName,
  period: { startMs: number; endMs: number },
  value: number,
): Truth => ({
  ...{ name, stream, ...period, value },
  ...{ everLost: false, everGrew: false, revisedLate: false },
})

/** The records of one profile. Many begin at the same instant, and some share all of their key but the instant. */
export function truthOfProfile(chance: Chance, hasLifelong: boolean): Map<number, Truth> {
  const truth = new Map<number, Truth>()
  const starts = new Map<string, Set<number>>()
  let last = BEGIN
  for (let name = 1; name <= PERIODS + INSTANTS; name += 1) {
    const stream = name <= MARKERS ? 'biomarkers' : name <= PERIODS ? 'tags' : 'scores'
    let startMs = chance(3) === 0 ? last : BEGIN - HISTORY + UNIT * chance(HISTORY / UNIT + 8)
    const kind = `${stream} ${name % 2}`
    const taken = starts.get(kind) ?? new Set()
    while (taken.has(startMs)) startMs += UNIT
    starts.set(kind, taken.add(startMs))
    last = startMs
    const lengthMs = stream !== 'scores' && chance(2) === 0 ? UNIT * chance(12) : 0
    truth.set(name, record(name, stream, { startMs, endMs: startMs + lengthMs }, chance(VALUES)))
  }
  const always = { startMs: Number.NEGATIVE_INFINITY, endMs: Number.POSITIVE_INFINITY }
  truth.set(SNAPSHOT, record(SNAPSHOT, 'demographics', always, chance(VALUES)))
  for (const stream of ['biomarkers', 'tags'] as const)
    if (hasLifelong) truth.set(lifelong[stream], record(lifelong[stream], stream, LIFE, 1))
  return truth
}

type Revision = { readonly chance: Chance; readonly nowMs: number; readonly late: boolean }

/** Another value, gone, back, or longer. Only an upstream that is late changes what has settled. */
export function reviseTruth(truth: Map<number, Truth>, { chance, nowMs, late }: Revision): void {
  const hasSettled = ({ name, endMs }: Truth) => name !== SNAPSHOT && endMs + SETTLE <= nowMs
  const open = [...truth.values()].filter((one) => one.startMs <= nowMs && (late || !hasSettled(one)))
  const one = open[chance(Math.max(1, open.length))]
  if (!one || isLifelong(one)) return
  if (hasSettled(one)) one.revisedLate = true
  else if (one.name !== SNAPSHOT && one.endMs > one.startMs && one.endMs < nowMs && chance(2) === 0) {
    one.endMs = Math.min(one.startMs + LONGEST, one.endMs + UNIT * (1 + chance(2)))
    one.everGrew = true
    one.everLost ||= one.stream === 'biomarkers'
  }
  one.value = chance(3) === 0 ? undefined : chance(VALUES)
  if (one.value === undefined) one.everLost = true
}

/** A record that a log may be about: the snapshot and the lifelong one are derived from none. */
export const loggedName = (chance: Chance): number => 1 + chance(PERIODS + INSTANTS)
