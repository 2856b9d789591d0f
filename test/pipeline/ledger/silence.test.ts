import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { logKinds } from '../../../src/base/contract/log-evidence.ts'
import { DAY, HOUR } from '../../../src/base/time/units.ts'
import {
  delayHours,
  habitOf,
  judgeUploads,
  type KindUploads,
  silenceRules,
  silenceStates,
} from '../../../src/pipeline/ledger/silence.ts'
import { createSeededRandom } from '../../../src/service/sandbox/people/seeded-random.ts'

const daily = Array.from({ length: 30 }, (_, day) => day * 24)

test('a habit needs five intervals', () => {
  expect(habitOf([0, 24, 48, 72, 96])).toEqual({ intervals: [24, 24, 24, 24] })
  expect(habitOf([0, 24, 48, 72, 96, 120])).toEqual({
    ...{ intervals: [24, 24, 24, 24, 24], usualHours: 24, longHours: 24, silentAfterHours: 56 },
  })
  expect(habitOf(daily.toReversed())).toEqual(habitOf(daily))
  expect(habitOf(daily.slice(0, 15)).silentAfterHours).toBe(56)
  expect(habitOf(daily.slice(0, 16)).silentAfterHours).toBe(44)
})

test('uploads of neighbouring hours are one, and the habit is that of ninety days up to the last upload', () => {
  expect(habitOf([0, 1, 2, 24]).intervals).toEqual([22])
  const old = [0, 100, 200]
  expect(habitOf([...old, ...daily.map((hour) => hour + 90 * 24)]).intervals).toHaveLength(30)
  expect(habitOf([...old, ...daily.map((hour) => hour + 90 * 24)]).intervals.at(-1)).toBe(90 * 24 - 200)
  expect(habitOf([...old, ...daily.map((hour) => hour + 90 * 24 + 201)]).intervals).toHaveLength(30)
})

test('an interval that occurred three times is usual, though it is rare', () => {
  const withPauses = (pauses: readonly number[]) =>
    habitOf(daily.map((hour) => hour + 48 * pauses.filter((day) => day * 24 <= hour).length)).longHours

  expect(withPauses([5])).toBe(24)
  expect(withPauses([5, 20])).toBe(72) // the 95 % quantile of 29 intervals is the second longest
  expect(habitOf([...Array.from({ length: 80 }, (_, day) => day * 24), 80 * 24 + 48, 80 * 24 + 96]).longHours).toBe(24)
  expect(
    habitOf([...Array.from({ length: 80 }, (_, day) => day * 24), ...[1, 2, 3].map((n) => 79 * 24 + 48 * n)]).longHours,
  ).toBe(48)
})

const uploads = (kind: KindUploads['kind'], hours: readonly number[]): KindUploads => ({
  ...{ kind, hours, device: kind === 'steps' ? 'phone' : 'watch' },
  ...{ lastAtMs: Math.max(...hours) * HOUR, lastDay: Math.floor(Math.max(...hours) / 24) },
})

test('a kind that stopped is measured by the last upload of any kind', () => {
  const judge = (sleep: readonly number[]) =>
    judgeUploads({ kinds: [uploads('steps', daily), uploads('sleep', sleep)], delays: [] }).map(
      ({ subject, state, device }) => [subject, state, device],
    )

  const steps = ['steps', undefined, 'phone']
  const all = ['all', undefined, 'phone']
  expect(judge(daily.slice(0, -2))).toEqual([all, steps, ['sleep', 'kind_stopped', 'watch']])
  expect(judge(daily.slice(0, -1))).toEqual([all, steps, ['sleep', undefined, 'watch']])
  expect(judge(daily.slice(0, 5))).toEqual([all, steps, ['sleep', undefined, 'watch']])
})

test('a kind has stopped when the last upload of any kind came later than its habit allows, and not at that time', () => {
  const sleep = uploads('sleep', daily)
  const limitMs = sleep.lastAtMs + (24 + silenceRules.graceHours) * HOUR
  const stateOfSleep = (lastAtMs: number) =>
    judgeUploads({ kinds: [sleep, { ...uploads('steps', daily), lastAtMs }], delays: [] })[1]?.state

  expect(stateOfSleep(limitMs)).toBeUndefined()
  expect(stateOfSleep(limitMs + 1)).toBe('kind_stopped')
})

test('all kinds together have the uploads of each and the newest time, day and device, in any order of the kinds', () => {
  const every = (from: number, times: number) => Array.from({ length: times }, (_, index) => from + index * 72)
  const steps = { ...uploads('steps', every(0, 10)), lastDay: 40 }
  const sleep = uploads('sleep', every(24, 10))
  const heart = { ...uploads('heart', every(48, 9)), lastAtMs: sleep.lastAtMs, device: 'ring' }
  const expected = { lastAtMs: sleep.lastAtMs, lastDay: 40, device: 'watch', longHours: 24, silentAfterHours: 44 }

  for (const kinds of [
    [steps, sleep, heart],
    [sleep, heart, steps],
    [heart, steps, sleep],
  ])
    expect(judgeUploads({ kinds, delays: [] })[0]).toMatchObject({ subject: 'all', ...expected })
})

test('kinds that no permission stops are no subjects of their own', () => {
  const kinds = logKinds.map((kind) => uploads(kind, daily))
  expect(judgeUploads({ kinds, delays: [] }).map(({ subject }) => subject)).toEqual([
    ...['all', 'steps', 'movement', 'heart', 'vitals', 'sleep', 'exercise', 'energy', 'body'],
  ])
  expect(judgeUploads({ kinds: [], delays: [] })).toEqual([])
})

test('a person without a habit is silent after a week', () => {
  const [all] = judgeUploads({ kinds: [uploads('steps', [0, 24])], delays: [] })
  expect(all).toMatchObject({ silentAfterHours: 168, state: undefined })
  expect(all?.longHours).toBeUndefined()
})

test.each([
  ['growing by an hour and a half a day', (day: number) => 9 + day * 1.5, 'later_and_later'],
  ['growing by half an hour a day', (day: number) => 9 + day / 2, undefined],
  ['long, but always so', () => 90, undefined],
  ['long in the last week alone', (day: number) => (day < 21 ? 9 : 60), undefined],
  ['growing, with a day in time in the last week', (day: number) => (day === 25 ? 0 : 9 + day * 1.5), undefined],
  ['shrinking', (day: number) => 90 - day, undefined],
])('delays %s', (_, delay, state) => {
  const delays = Array.from({ length: 28 }, (__, day) => Math.round(delay(day)))
  const [all] = judgeUploads({ kinds: [uploads('steps', daily)], delays })
  expect(all?.state).toBe(state)
  expect(judgeUploads({ kinds: [uploads('steps', daily)], delays: delays.slice(1) })[0]?.state).toBeUndefined()
})

const weekOf = (...delays: number[]) => Array.from({ length: 7 }, (_, index) => delays[index] ?? delays.at(-1) ?? 0)

test.each([
  ['a day later than the first week', [weekOf(0), weekOf(8), weekOf(16), weekOf(24)], 'later_and_later'],
  ['an hour less', [weekOf(0), weekOf(8), weekOf(16), weekOf(23)], undefined],
  ['two weeks alike', [weekOf(0), weekOf(8), weekOf(8), weekOf(24)], undefined],
  ['the first two weeks alike', [weekOf(0), weekOf(0), weekOf(8), weekOf(24)], undefined],
  ['a day of the last week as early as the first week', [weekOf(2), weekOf(8), weekOf(16), weekOf(2, 26)], undefined],
  ['each day of the last week later', [weekOf(2), weekOf(8), weekOf(16), weekOf(3, 26)], 'later_and_later'],
])('weeks of delays: %s', (_, weeks, state) => {
  expect(judgeUploads({ kinds: [uploads('steps', daily)], delays: weeks.flat() })[0]?.state).toBe(state)
})

test('a delay counts from the end of the day', () => {
  expect(delayHours(10, 11 * DAY + 9 * HOUR)).toBe(9)
  expect(delayHours(10, 10 * DAY + 9 * HOUR)).toBe(0)
})

type Habits = 'several a day' | 'daily' | 'on working days' | 'every 1 to 6 days'
const DAYS = 180
const PEOPLE = 300

/** The uploads of a person by the hour, without those that planned silences swallow. */
function plannedPerson(habits: Habits, number: number) {
  const random = createSeededRandom('silence', habits, number)
  const at = random.integer(7, 20)
  const hours: number[] = []
  for (let day = 0; day < DAYS; ) {
    const times = habits === 'several a day' ? [8, 13, 19] : [at]
    if (habits !== 'on working days' || day % 7 < 5)
      for (const time of times) hours.push(day * 24 + time + random.integer(-2, 2))
    day += habits === 'every 1 to 6 days' ? random.integer(1, 6) : 1
  }
  const silences: { from: number; to: number }[] = []
  for (let from = random.integer(30, 60) * 24; from < (DAYS - 15) * 24; ) {
    const to = from + random.integer(1, 14) * 24
    silences.push({ from, to })
    from = to + random.integer(25, 60) * 24
  }
  return { hours: hours.filter((hour) => !silences.some(({ from, to }) => hour >= from && hour < to)), silences }
}

/** Looks every hour, as the worker does. */
function watch({ hours, silences }: ReturnType<typeof plannedPerson>) {
  const beyond: number[] = []
  let falseAlarms = 0
  for (const [index, last] of hours.entries()) {
    const next = hours[index + 1] ?? DAYS * 24
    const { intervals, silentAfterHours } = habitOf(hours.slice(Math.max(0, index - 300), index + 1))
    if (silentAfterHours === undefined || last + silentAfterHours >= next) continue
    const alarmAt = last + silentAfterHours + 1
    const isPlanned = silences.some(({ from, to }) => from < alarmAt && to > last && from <= next)
    const usual = intervals[Math.ceil(intervals.length * 0.95) - 1] ?? 0
    if (isPlanned) beyond.push(alarmAt - last - usual)
    else falseAlarms += 1
  }
  return { beyond, falseAlarms }
}

/** As docs/reference/silence.md has them. */
test.each<{ habits: Habits[]; found: number; falseAlarms: number }>([
  { habits: ['several a day', 'daily', 'on working days'], found: 841, falseAlarms: 0 },
  { habits: ['every 1 to 6 days'], found: 628, falseAlarms: 10 },
])(
  '300 people who hand in $habits: a planned silence is noticed within a day beyond the usual',
  ({ habits, ...expected }) => {
    const watched = Array.from({ length: PEOPLE }, (_, number) =>
      watch(plannedPerson(habits[number % habits.length] ?? 'daily', number)),
    )
    const beyond = watched.flatMap((person) => person.beyond).toSorted((a, b) => a - b)
    const falseAlarms = watched.reduce((sum, person) => sum + person.falseAlarms, 0)

    expect({ found: beyond.length, falseAlarms }).toEqual(expected)
    expect(beyond[Math.floor(beyond.length / 2)]).toBe(21)
    expect((falseAlarms / PEOPLE / (DAYS / 30)) * 100).toBeLessThanOrEqual(1)
  },
)

test('the documents have the states and the figures of the rules', () => {
  const page = readFileSync('docs/reference/silence.md', 'utf8')
  const figures = [...page.matchAll(/^\| `(\w+)` \| ([\d.]+) \|/gm)].map(([, name, value]) => [name, Number(value)])
  expect(figures).toEqual(Object.entries(silenceRules))
  const states = [...page.matchAll(/^\| `(\w+)` \| (?:logs|no|upstream)/gm)].map(([, state]) => state)
  expect(states).toEqual(silenceStates)
})
