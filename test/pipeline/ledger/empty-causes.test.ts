import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { pulledStreams } from '../../../config/streams.ts'
import { coverMinutes, type LogKind, logKinds, noMinutes } from '../../../src/base/contract/log-evidence.ts'
import { DAY, HOUR } from '../../../src/base/time/units.ts'
import {
  type DayLogs,
  type EmptyDay,
  emptyCauses,
  emptyRules,
  explainEmptyDay,
  type KindOfDay,
} from '../../../src/pipeline/ledger/empty-causes.ts'

const day = 20_000
const needs = { anyOf: ['steps', 'sleep'], alone: true } as const

type Hours = readonly [from: number, to: number]

const kindOver = ([from, to]: Hours): KindOfDay => {
  const minutes = noMinutes()
  coverMinutes(minutes, from * 60, to * 60)
  return { minutes, firstParcel: 7, lastParcel: 9, device: 'watch', isRevised: false }
}
const logsOver = (hours: Partial<Record<LogKind, Hours>>) =>
  new Map(Object.entries(hours).map(([kind, each]) => [kind as LogKind, kindOver(each)]))

/** The thirty days before, with these kinds, each handed in `hoursLate` after its end. */
const habit = (kinds: readonly LogKind[], hoursLate = 2, days = 30): Map<number, DayLogs> =>
  new Map(
    Array.from({ length: days }, (_, index) => {
      const before = day - days + index
      return [before, { kinds, firstAtMs: (before + 1) * DAY + hoursLate * HOUR }]
    }),
  )

type Given = Partial<Omit<EmptyDay, 'logs'>> & { readonly logs?: Partial<Record<LogKind, Hours>> }

function explain({ logs: hours = {}, around = habit(['steps', 'sleep', 'heart', 'energy']), ...given }: Given) {
  const logs = logsOver(hours)
  const known = new Map(around)
  if (logs.size > 0) known.set(day, { kinds: [...logs.keys()], firstAtMs: (day + 1) * DAY })
  const rest = { eveningBefore: new Map(), isWaiting: false, isRefused: false, nowMs: (day + 4) * DAY }
  return explainEmptyDay({ day, needs, around: known, logs, ...rest, ...given })
}

test('without any log around the day, the data do not pass through us', () => {
  expect(explain({ around: new Map() })).toEqual({ cause: 'not_through_us', evidence: {} })
})

test('without a log on the day, nothing was sent, and the neighbours say when something was', () => {
  const around = habit(['steps']).set(day + 2, { kinds: ['steps'], firstAtMs: (day + 3) * DAY })

  expect(explain({ around })).toEqual({
    cause: 'nothing_sent',
    evidence: { before: '2024-10-03', after: '2024-10-06', usualDelayHours: 2 },
  })
})

test('logs of a person who is late as a rule are waited for, as long again as half of the usual delay', () => {
  const around = habit(['steps'], 4 * 24)
  const untilMs = (day + 1) * DAY + 6 * DAY + 12 * HOUR

  expect(explain({ around })).toEqual({
    cause: 'sent_late_expected',
    evidence: { before: '2024-10-03', usualDelayHours: 96, expectedAt: new Date(untilMs).toISOString() },
    untilMs,
  })
  expect(explain({ around, nowMs: untilMs }).cause).toBe('nothing_sent')
  expect(explain({ around, nowMs: untilMs - 1 }).cause).toBe('sent_late_expected')
})

test('a later day that was sent ends the waiting, and so few days make no habit', () => {
  const late = habit(['steps'], 4 * 24)
  expect(explain({ around: late.set(day + 1, { kinds: ['steps'], firstAtMs: 0 }) }).cause).toBe('nothing_sent')
  expect(explain({ around: habit(['steps'], 4 * 24, 4) }).cause).toBe('nothing_sent')
  expect(explain({ around: habit(['steps'], 4 * 24, 5) }).cause).toBe('sent_late_expected')
})

test('delays of a back-fill are no habit', () => {
  expect(explain({ around: habit(['steps'], 15 * 24) }).cause).toBe('nothing_sent')
  expect(explain({ around: habit(['steps'], 14 * 24) }).cause).toBe('sent_late_expected')
})

test('a day of three hours of wear was not worn, whatever else was sent', () => {
  expect(explain({ logs: { energy: [0, 24], heart: [9, 12] } })).toEqual({
    cause: 'not_worn',
    evidence: { kinds: ['energy', 'heart'], parcels: [7, 9], devices: ['watch'], wornMinutes: 180, wornHours: 3 },
  })
  expect(explain({ logs: { zero: [0, 24] } }).cause).toBe('not_worn')
})

test('a usual kind that stops while others prove wear is missing, with the day on which it came last', () => {
  const around = habit(['sleep', 'heart'])

  expect(explain({ around, logs: { heart: [0, 24] } })).toMatchObject({
    cause: 'partly_sent',
    evidence: { missing: [{ kind: 'sleep', last: '2024-10-03' }] },
  })
  // Worn by day alone: the person may have slept without it.
  expect(explain({ around, logs: { heart: [10, 19] } }).cause).toBe('not_worn')
  expect(explain({ around: habit(['steps', 'heart']), logs: { heart: [10, 19] } })).toMatchObject({
    cause: 'partly_sent',
    evidence: { missing: [{ kind: 'steps' }] },
  })
})

test('logs that are enough for certain are for upstream to explain', () => {
  expect(explain({ logs: { steps: [8, 12], heart: [7, 18] } }).cause).toBe('sent_not_derived')
  expect(explain({ logs: { sleep: [0, 4] } }).cause).toBe('sent_not_derived')
  const eveningBefore = logsOver({ sleep: [21, 24] })
  expect(explain({ logs: { sleep: [0, 1] }, eveningBefore }).cause).toBe('sent_not_derived')
})

test('logs that wait or were refused, and streams that need more than logs, are not upstream’s to explain', () => {
  const logs = { steps: [7, 19], heart: [7, 19] } as const
  expect(explain({ logs, isWaiting: true })).toMatchObject({ cause: 'unknown', evidence: { waiting: true } })
  expect(explain({ logs, isRefused: true })).toMatchObject({ cause: 'unknown', evidence: { refused: true } })
  expect(explain({ logs, needs: { ...needs, alone: false } }).cause).toBe('unknown')
})

test('a short day with steps, and the only kind that proves wear when it stops, are unknown', () => {
  expect(explain({ logs: { steps: [9, 15], heart: [9, 15] } }).cause).toBe('unknown')
  expect(explain({ around: habit(['steps', 'energy']), logs: { energy: [0, 24] } }).cause).toBe('unknown')
})

test('the evidence that is looked at is made due again by a push of it', () => {
  for (const stream of pulledStreams) {
    if (!('needs' in stream)) continue
    const reach = stream.touchedBy['data-logs']
    expect(reach.afterMs, stream.name).toBeGreaterThanOrEqual(emptyRules.daysBefore * DAY)
    expect(reach.beforeMs, stream.name).toBeGreaterThanOrEqual(emptyRules.daysAfter * DAY)
  }
})

const hours = fc
  .tuple(fc.nat(23), fc.integer({ min: 1, max: 24 }))
  .map(([from, long]) => [from, Math.min(24, from + long)] as const)
const dayLogs = fc.record({
  kinds: fc.subarray([...logKinds], { minLength: 1 }),
  firstAtMs: fc.integer({ min: (day - 80) * DAY, max: (day + 30) * DAY }),
})
const days = fc.uniqueArray(
  fc.tuple(fc.integer({ min: day - emptyRules.daysBefore, max: day + emptyRules.daysAfter }), dayLogs),
  {
    selector: ([at]) => at,
    maxLength: 60,
  },
)
const logsOfDay = fc.dictionary(fc.constantFrom(...logKinds), hours, { maxKeys: 6 })

test('the cause follows from the evidence alone, not from the order in which it came, and upstream is blamed by enough logs alone', () => {
  fc.assert(
    fc.property(days, logsOfDay, fc.integer({ min: 0, max: 40 * 24 }), (around, logs, later) => {
      const others = around.filter(([at]) => at !== day)
      const nowMs = (day + 1) * DAY + later * HOUR
      const told = explain({ around: new Map(others), logs, nowMs })

      expect(
        explain({
          around: new Map(others.toReversed()),
          logs: Object.fromEntries(Object.entries(logs).toReversed()),
          nowMs,
        }),
      ).toEqual(told)
      expect(emptyCauses).toContain(told.cause)
      if (told.cause === 'sent_not_derived')
        expect(told.evidence.kinds?.some((kind) => kind === 'steps' || kind === 'sleep')).toBe(true)
      if (told.cause === 'not_through_us') expect([others.length, Object.keys(logs).length]).toEqual([0, 0])
      expect(told.untilMs === undefined).toBe(told.cause !== 'sent_late_expected')
    }),
  )
})

test('docs/reference/empty-days.md names each cause and each figure of the rules', () => {
  const page = readFileSync(new URL('../../../docs/reference/empty-days.md', import.meta.url), 'utf8')

  expect(emptyCauses.filter((cause) => !page.includes(`| \`${cause}\` |`))).toEqual([])
  const figures = {
    ...emptyRules,
    delayGraceMs: emptyRules.delayGraceMs / HOUR,
    delayMaxMs: emptyRules.delayMaxMs / DAY,
  }
  const rows = [...page.matchAll(/^\| `(\w+)` \| ([\d.]+)/gm)].map(([, name, value]) => [name, Number(value)])
  expect(Object.fromEntries(rows)).toEqual(figures)
})
