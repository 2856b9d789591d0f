import { expect, test } from 'vitest'
import { type PlanName, planNames, plannedPerson } from '../../../src/service/sandbox/people/planned-people.ts'
import type { SampleLog } from '../../../src/service/sandbox/people/sample-logs.ts'

const days = 100
const firstDay = 20_000

const personOf = (plan: PlanName) => plannedPerson('lost', planNames.indexOf(plan), { firstDay, days })
const nameOf = ({ logType, dataType }: SampleLog): string => (dataType === 'steps' ? 'steps' : logType)
/** The kinds of logs of each day, by the number of the day. */
const kindsByDay = (plan: PlanName) => personOf(plan).days.map(({ logs }) => new Set(logs.map(nameOf)))
const between = <T>(list: readonly T[], from: number, to: number) => list.slice(from, to)

test.each<[PlanName, string[], Array<[from: number, to: number]>]>([
  ['sensor-dead', ['steps', 'sleep'], [[40, 60]]],
  [
    'sleep-revoked',
    ['sleep'],
    [
      [30, 50],
      [75, 85],
    ],
  ],
])('%s: no %s on the planned days, and the heart goes on', (plan, lost, spans) => {
  const kinds = kindsByDay(plan)
  const isLost = (number: number) => spans.some(([from, to]) => number >= from && number < to)
  const without = kinds.filter((_, number) => isLost(number))
  for (const kind of lost) {
    expect(without.filter((day) => day.has(kind))).toEqual([])
    expect(between(kinds, 1, 30).filter((day) => day.has(kind)).length, kind).toBeGreaterThan(20)
    expect(between(kinds, 90, 100).filter((day) => day.has(kind)).length, kind).toBeGreaterThan(5)
  }
  expect(without.every((day) => day.has('heart'))).toBe(true)
})

test.each<[PlanName, (kinds: ReadonlySet<string>) => boolean]>([
  ['switched-off', (kinds) => kinds.size === 0],
  ['not-worn', (kinds) => kinds.size > 0 && !kinds.has('heart') && !kinds.has('sleep') && !kinds.has('steps')],
  ['other-road', (kinds) => kinds.size === 0],
])('%s: on single days the logs are missing, after two quiet weeks', (plan, isMissing) => {
  const missing = kindsByDay(plan).flatMap((kinds, number) => (isMissing(kinds) ? number : []))
  expect(missing.length).toBeGreaterThan(3)
  expect(missing.every((number) => number >= 14)).toBe(true)
})

test('half-worn: what is worn is recorded from nine to three alone on the days that upstream does not derive', () => {
  const worn = personOf('half-worn').days.filter(({ isDerived }) => !isDerived)
  expect(worn.length).toBeGreaterThan(3)
  const times = worn.flatMap(({ logs }) => logs.filter(({ logType }) => logType === 'heart'))
  expect(times.length).toBeGreaterThan(0)
  expect(times.filter(({ startDateTime: at }) => at.slice(11, 16) < '09:00' || at.slice(11, 16) > '15:00')).toEqual([])
})
