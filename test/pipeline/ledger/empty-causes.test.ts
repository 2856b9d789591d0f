import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { pulledStreams } from '../../../config/streams.ts'
import { coverMinutes, type LogKind, logKinds, noMinutes } from '../../../src/base/contract/log-evidence.ts'
import { dayText } from '../../../src/base/time/local-time.ts'
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

/** Days with logs of these kinds. `ages`: how many days each lies before the day; negative: after it. */
const daysWith = (kinds: readonly LogKind[], ages: readonly number[]): Map<number, DayLogs> =>
  new Map(ages.map((age) => [day - age, { kinds, firstAtMs: (day - age + 1) * DAY }]))

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

const withSteps = (...ages: number[]) => daysWith(['steps', 'heart'], ages)
const withoutSteps = (...ages: number[]) => daysWith(['heart'], ages)

/** Heart logs prove wear all day: the missing steps are the sender's fault where they are usual. */
test.each<[string, lastAge: number | undefined, around: ReadonlyArray<Map<number, DayLogs>>]>([
  ['five days make a habit', 1, [withSteps(1, 2, 3, 4, 5)]],
  ['four do not', undefined, [withSteps(1, 2, 3, 4)]],
  ['three days of five are usual', 1, [withSteps(1, 3, 5), withoutSteps(2, 4)]],
  ['two days of five are not', undefined, [withSteps(1, 5), withoutSteps(2, 3, 4)]],
  ['the last of 28 days counts', undefined, [withSteps(1, 3, 5), withoutSteps(2, 4, 28)]],
  ['a day before these does not', 1, [withSteps(1, 3, 5), withoutSteps(2, 4, 29)]],
  ['days after the last with steps do not count', 7, [withSteps(7, 8, 9, 10, 11), withoutSteps(1, 2, 3, 4, 5, 6)]],
  ['nor do days after the day', 2, [withSteps(2, 3, 4, 5, 6, -1)]],
  ['it came last 63 days before, and its habit is looked at', 63, [withSteps(63, 64, 65, 66, 90), withoutSteps(1)]],
  ['it came last 64 days before', undefined, [withSteps(64, 65, 66, 67, 68), withoutSteps(1)]],
])('a usual kind: %s', (_, lastAge, around) => {
  const explained = explain({ around: new Map(around.flatMap((days) => [...days])), logs: { heart: [7, 21] } })
  const missing = lastAge === undefined ? undefined : [{ kind: 'steps', last: dayText(day - lastAge) }]
  expect([explained.cause, explained.evidence.missing]).toEqual([missing ? 'partly_sent' : 'unknown', missing])
})

test.each<[missing: readonly LogKind[], logs: Hours, evening?: Hours]>([
  [['steps'], [8, 12]],
  [['steps'], [18, 22]],
  [[], [9, 12]],
  [[], [5, 11]],
  [[], [19, 24]],
  [['sleep'], [4, 8]],
  [['sleep'], [0, 2], [22, 24]],
  [[], [0, 1], [22, 24]],
  [[], [5, 9]],
  [[], [5, 8], [10, 22]],
  [
    ['steps', 'sleep'],
    [4, 12],
  ],
])(
  'missing is %j where wear is proven from 8 to 22 for steps, from 22 to 8 for sleep: %j',
  (missing, heart, evening) => {
    const eveningBefore = logsOver(evening ? { heart: evening } : {})
    const { evidence } = explain({ around: habit(['steps', 'sleep', 'heart']), logs: { heart }, eveningBefore })
    expect(evidence.missing?.map(({ kind }) => kind) ?? []).toEqual(missing)
  },
)

test.each<[string, Given, cause: string]>([
  ['of the evening before', { logs: { heart: [0, 24] }, eveningBefore: logsOver({ sleep: [22, 24] }) }, 'unknown'],
  [
    'of the afternoon before',
    { logs: { heart: [0, 24] }, eveningBefore: logsOver({ sleep: [12, 18] }) },
    'partly_sent',
  ],
  ['of the morning', { logs: { heart: [0, 24], sleep: [5, 8] } }, 'unknown'],
  ['of the evening', { logs: { heart: [0, 24], sleep: [18, 24] } }, 'partly_sent'],
])('a night belongs to the day on which it ends: sleep %s', (_, given, cause) => {
  expect(explain({ around: habit(['sleep', 'heart']), ...given }).cause).toBe(cause)
})

test.each<[string, usual: LogKind[], logs: Partial<Record<LogKind, Hours>>, cause: string]>([
  ['three hours of wear', ['steps', 'heart'], { steps: [9, 12] }, 'not_worn'],
  ['four hours with steps', ['steps', 'heart'], { steps: [9, 13] }, 'unknown'],
  ['600 minutes without steps', ['steps', 'heart'], { heart: [0, 8], movement: [22, 24] }, 'unknown'],
  ['570 minutes without steps', ['steps', 'heart'], { heart: [0, 8], movement: [22, 23.5] }, 'not_worn'],
  ['570 minutes, and nothing is missing', ['sleep', 'heart'], { sleep: [0, 3], heart: [8, 14.5] }, 'unknown'],
  ['both kinds that prove wear stop', ['steps', 'heart', 'energy'], { energy: [0, 24] }, 'not_worn'],
  ['the only kind that proves wear stops', ['heart', 'energy'], { energy: [0, 24] }, 'unknown'],
  ['and zeros come instead', ['heart', 'energy'], { zero: [0, 24] }, 'not_worn'],
  ['the only kind that proves wear comes', ['heart', 'energy'], { heart: [9, 11] }, 'not_worn'],
  ['no kind ever proved wear', ['energy'], { energy: [0, 24] }, 'unknown'],
])('not worn, or unknown: %s', (_, usual, logs, cause) => {
  expect(explain({ around: habit(usual), logs }).cause).toBe(cause)
})

const provesWear: readonly LogKind[] = ['steps', 'movement', 'heart', 'vitals', 'sleep', 'exercise']
const makesValid: readonly LogKind[] = ['steps', 'heart', 'sleep', 'exercise']

test.each(logKinds)('which kinds prove wear, and which of them for the derivation: %s', (kind) => {
  const logs = { steps: [0, 1], [kind]: [0, 11] } as const
  const { cause, evidence } = explain({ needs: { anyOf: ['steps'], alone: true }, logs })

  expect(evidence.wornHours).toBe(provesWear.includes(kind) ? 11 : 1)
  expect(cause === 'sent_not_derived').toBe(makesValid.includes(kind))
})

test('the evidence joins all logs of the day', () => {
  const phone = { ...kindOver([9, 10]), firstParcel: 3, lastParcel: 12, device: 'phone', isRevised: true }
  const logs = new Map<LogKind, KindOfDay>([
    ['steps', phone],
    ['heart', kindOver([10, 11])],
  ])
  const around = habit(['steps', 'heart']).set(day, { kinds: ['steps', 'heart'], firstAtMs: day * DAY })
  const rest = { eveningBefore: new Map(), isWaiting: false, isRefused: false, nowMs: (day + 4) * DAY }

  expect(explainEmptyDay({ day, needs, around, logs, ...rest }).evidence).toEqual({
    ...{ kinds: ['heart', 'steps'], parcels: [3, 12], devices: ['phone', 'watch'], revised: true },
    ...{ wornMinutes: 120, wornHours: 2 },
  })
})

test.each<[ages: readonly number[], nearest: { before?: string; after?: string }]>([
  [[3, -2, 1, -5, 90], { before: dayText(day - 1), after: dayText(day + 2) }],
  [[90, -5, 1, -2, 3], { before: dayText(day - 1), after: dayText(day + 2) }],
  [[2, 7], { before: dayText(day - 2) }],
  [[-4, -6], { after: dayText(day + 4) }],
])('of days with logs %j days before the day, the nearest are named', (ages, nearest) => {
  expect(explain({ around: daysWith(['steps'], ages) }).evidence).toEqual(nearest)
})

test('the usual delay is the shortest one that 95 % of the days of the last 28 did not exceed, from five days on', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 14 * 24 }), { minLength: 1, maxLength: 32 }), (hoursLate) => {
      const daysLate = hoursLate.map((late, index): [number, DayLogs] => [
        day - index - 1,
        { kinds: ['steps'], firstAtMs: (day - index) * DAY + late * HOUR },
      ])
      const delays = hoursLate.slice(0, 28)
      const isUsual = (delay: number) => delays.filter((each) => each <= delay).length >= delays.length * 0.95
      const usual = delays.length < 5 ? undefined : Math.min(...delays.filter(isUsual))

      expect(explain({ around: new Map(daysLate) }).evidence.usualDelayHours).toBe(usual)
    }),
  )
})

test.each<[ages: readonly number[], delay: number | undefined]>([
  [[1, 2, 3, 4, 28], 0],
  [[1, 2, 3, 4, 29], undefined],
  [[1, 2, 3, 4, -1], undefined],
])('days with logs %j days before the day: a usual delay of %s', (ages, delay) => {
  expect(explain({ around: daysWith(['steps'], ages) }).evidence.usualDelayHours).toBe(delay)
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

const inTwoOrders = <T>(lists: fc.Arbitrary<T[]>) =>
  lists.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })))

test('the cause follows from the evidence alone, not from the order in which it came, and upstream is blamed by enough logs alone', () => {
  fc.assert(
    fc.property(
      inTwoOrders(days),
      logsOfDay,
      fc.integer({ min: 0, max: 40 * 24 }),
      ([around, shuffled], logs, later) => {
        const others = around.filter(([at]) => at !== day)
        const nowMs = (day + 1) * DAY + later * HOUR
        const told = explain({ around: new Map(others), logs, nowMs })

        expect(
          explain({
            around: new Map(shuffled.filter(([at]) => at !== day)),
            logs: Object.fromEntries(Object.entries(logs).toReversed()),
            nowMs,
          }),
        ).toEqual(told)
        expect(emptyCauses).toContain(told.cause)
        if (told.cause === 'sent_not_derived')
          expect(told.evidence.kinds?.some((kind) => kind === 'steps' || kind === 'sleep')).toBe(true)
        if (told.cause === 'not_through_us') expect([others.length, Object.keys(logs).length]).toEqual([0, 0])
        expect(told.untilMs === undefined).toBe(told.cause !== 'sent_late_expected')
      },
    ),
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
