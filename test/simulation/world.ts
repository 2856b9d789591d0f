import { normalize, type Span, subtract } from '../../src/coverage.ts'
import { type Arrival, dueWindows, isInside, isTheirs, judge, type LedgerState } from '../../src/planner.ts'

/** Small numbers, so that everything meets everything: a day is 10, the past is 60 long. */
export const SETTLE = 12
export const DIGEST = 5
const SIZE = 20
const HISTORY = 60

type Truth = Span & { name: number; value: number | undefined }
type Stored = { value: number; sentAtMs: number; gone: boolean }
type Reading = Arrival & { records: Array<Span & { name: number; value: number }> }
type Push = { touched: Span; acceptedAt: number; changesAt: number; name: number; value: number; marked: boolean }

/** A source of chance that repeats itself for the same seed. */
export function createChance(seed: number): (below: number) => number {
  let state = (seed * 2_654_435_761) >>> 0
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e37_79b9) >>> 0
    return ((state ^ (state >>> 13)) >>> 0) % below
  }
}

/**
 * Upstream, the line and a warehouse, as small as they can be and with the real planner and judge between them. What the
 * statements of `src/warehouse` do in SQL is said here in ten lines; what is decided is decided by the real code.
 */
export function createWorld(seed: number) {
  const chance = createChance(seed)
  let now = 1000
  const truth = new Map<number, Truth>()
  const pushes: Push[] = []
  const readings: Reading[] = []
  const stored = new Map<number, Stored>()
  let ledger: (LedgerState & { covered: Span[] }) | undefined = {
    generation: 0,
    digesting: [],
    digestedAtMs: Number.NEGATIVE_INFINITY,
    recent: [],
    covered: [],
  }

  for (let name = 1; name <= 12; name += 1) {
    const from = now - HISTORY + chance(HISTORY)
    // Most are instants; some are periods that reach across whatever windows there are.
    truth.set(name, { name, from, to: from + (chance(3) === 0 ? chance(15) : 0), value: 0 })
  }

  const acts = {
    wait: () => {
      now += 1 + chance(6)
    },
    /** Upstream changes its mind about what has not settled: another value, gone, or back. */
    revise: () => {
      const one = truth.get(1 + chance(12))
      if (one && one.to + SETTLE > now && one.from <= now) one.value = chance(4) === 0 ? undefined : chance(1000)
    },
    /** Upstream accepts something from which it will derive; our own mark comes later. */
    push: () => {
      const one = truth.get(1 + chance(12))
      if (!one || one.from > now) return
      const changesAt = now + chance(DIGEST)
      pushes.push({
        touched: { from: one.from - 2, to: one.to + 3 },
        acceptedAt: now,
        changesAt,
        name: one.name,
        value: chance(1000),
        marked: false,
      })
    },
    mark: () => {
      const push = pushes.find((one) => !one.marked)
      if (!push || !ledger) return
      push.marked = true
      ledger = {
        ...ledger,
        generation: ledger.generation + 1,
        covered: subtract(ledger.covered, [push.touched]),
        digesting: normalize([...ledger.digesting, push.touched]),
        digestedAtMs: now + DIGEST,
      }
    },
    /** A job plans, and its requests go out; any number of jobs at once. */
    read: () => {
      if (!ledger) return
      const blocked = ledger.digestedAtMs > now && chance(2) === 0 ? ledger.digesting : []
      const wanted = { from: 1000 - HISTORY, to: now + 2 }
      const due = dueWindows({ wanted, covered: ledger.covered, blocked, sizeMs: SIZE, windowsMax: 10 })
      for (const window of due) readings.push(send(window, ledger.generation))
    },
    /** One of the answers that are under way comes in; which one is chance. */
    arrive: () => {
      const [reading] = readings.splice(chance(Math.max(1, readings.length)), 1)
      if (reading) store(reading)
    },
    /** A worker dies with all that it had under way. */
    die: () => {
      readings.splice(0, chance(readings.length + 1))
    },
    erase: () => {
      if (chance(40) > 0) return
      ledger = undefined
      stored.clear()
    },
  }

  function send(window: Span, generation: number): Reading {
    settlePushes()
    const touching = [...truth.values()].flatMap((one) =>
      one.value !== undefined && one.from <= window.to && one.to >= window.from ? [{ ...one, value: one.value }] : [],
    )
    // An upstream that reads ends as exclusive leaves out what only touches an end.
    const records = touching.filter((one) => isInside(one, window) || chance(2) === 0 || reachesInto(one, window))
    return {
      span: window,
      whole: false,
      crossing: records.filter((one) => !isInside(one, window)).map(({ name }) => name),
      reachesBack: records.some((one) => one.from < window.from && one.to > window.from),
      sentAtMs: now,
      serverAtMs: now - chance(3),
      generation,
      settleMs: SETTLE,
      records,
    }
  }

  function settlePushes(): void {
    for (const push of pushes) {
      const one = truth.get(push.name)
      if (!one || push.changesAt > now || push.changesAt < 0) continue
      one.value = push.value
      push.changesAt = -1
    }
  }

  function store(reading: Reading): void {
    if (!ledger) return
    const verdict = judge(reading, ledger, now)
    if (verdict.kind !== 'admitted') return
    for (const one of reading.records) {
      if (isTheirs(one, verdict.newer)) continue
      const known = stored.get(one.name)
      if (known && known.sentAtMs >= reading.sentAtMs) continue
      // What is unchanged is not touched, and keeps the instant of the reading that wrote it.
      if (known && known.value === one.value && !known.gone) continue
      stored.set(one.name, { value: one.value, sentAtMs: reading.sentAtMs, gone: false })
    }
    if (verdict.complete) {
      const names = new Set(reading.records.map(({ name }) => name))
      for (const [name, known] of stored) {
        const one = truth.get(name)
        if (!one || known.gone || known.sentAtMs >= reading.sentAtMs || names.has(name)) continue
        if (isInside(one, reading.span)) stored.set(name, { ...known, gone: true, sentAtMs: reading.sentAtMs })
      }
    }
    ledger = {
      ...ledger,
      recent: verdict.recent,
      covered: normalize([...ledger.covered, ...verdict.covers]),
      digesting:
        reading.sentAtMs >= ledger.digestedAtMs ? subtract(ledger.digesting, verdict.covers) : ledger.digesting,
    }
  }

  /** What is called covered and is not so. */
  function lies(): string[] {
    settlePushes()
    if (!ledger) return stored.size > 0 ? ['something of the erased is left'] : []
    const { covered } = ledger
    return [...truth.values()].flatMap((one) => {
      const pending = pushes.some((push) => push.name === one.name && (!push.marked || push.changesAt >= 0))
      if (pending || !covered.some((span) => isInside(one, span))) return []
      const known = stored.get(one.name)
      const here = known && !known.gone ? known.value : undefined
      // A record across a seam that vanishes is not called gone: neither window must have held it.
      if (one.value === undefined && one.from !== one.to) return []
      return here === one.value ? [] : [`record ${one.name}: ${here} here, ${one.value} upstream`]
    })
  }

  const names = Object.keys(acts) as Array<keyof typeof acts> // the keys of a literal are its names
  return {
    step(): string {
      const weighed = [...names, 'wait', 'read', 'arrive', 'arrive', 'arrive', 'revise'] as const
      const act = weighed[chance(weighed.length)] ?? 'wait'
      acts[act]()
      return act
    },
    lies,
    /** Everything that is under way comes in, time goes on, and what is due is read until nothing is. */
    rest(): string[] {
      for (let round = 0; round < 12; round += 1) {
        now += DIGEST + SETTLE
        settlePushes()
        for (const _ of pushes) acts.mark()
        while (readings.length > 0) acts.arrive()
        acts.read()
      }
      while (readings.length > 0) acts.arrive()
      return lies()
    },
    isWhole: () =>
      !ledger || subtract([{ from: 1000 - HISTORY, to: now - 3 * (DIGEST + SETTLE) }], ledger.covered).length === 0,
  }
}

const reachesInto = (record: Span, window: Span): boolean => record.from < window.to && record.to > window.from
