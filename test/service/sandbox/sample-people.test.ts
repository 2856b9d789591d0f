import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { dataLogInputSchema } from '../../../src/base/contract/data-log.ts'
import { demographicInputSchema } from '../../../src/base/contract/demographic.ts'
import { deviceInformationInputSchema } from '../../../src/base/contract/device-information.ts'
import { tagInputSchema } from '../../../src/base/contract/tag.ts'
import { DAY } from '../../../src/base/time/units.ts'
import type { SampleLog } from '../../../src/service/sandbox/people/sample-logs.ts'
import {
  deviceInformationOf,
  logsOf,
  sampleDemographicsOf,
  samplePeople,
  tagsOf,
} from '../../../src/service/sandbox/people/sample-people.ts'
import { richPeopleMax, type SamplePerson } from '../../../src/service/sandbox/people/sample-person.ts'

const days = 60
const endMs = Date.parse('2026-11-20T18:00:00Z')
const span = { startMs: endMs - days * DAY, endMs }
const people = samplePeople('seven', 8)
const logs = new Map(people.map((person) => [person.kind, logsOf(person, span)]))

const personOfKind = (kind: SamplePerson['kind']) => people.find((person) => person.kind === kind) ?? raise(kind)
const logsOfKind = (kind: SamplePerson['kind']) => logs.get(kind) ?? raise(kind)
const startOf = (log: SampleLog) => Date.parse(log.startDateTime)
const endOf = (log: SampleLog) => Date.parse(log.endDateTime)
const ofType = (all: readonly SampleLog[], ...types: string[]) => all.filter((log) => types.includes(log.dataType))
const sumOf = (all: readonly SampleLog[]) => all.reduce((sum, log) => sum + log.value, 0)
const nightsOf = (all: readonly SampleLog[]) => ofType(all, 'sleep_stage_in_bed').filter((log) => log.value > 200)
const asleep = ['sleep_stage_light', 'sleep_stage_deep', 'sleep_stage_rem']

function raise(what: string): never {
  throw new Error(`no ${what}`)
}

describe('the same seed gives the same people', () => {
  test('to the last digit of every log, tag and demographic', () => {
    for (const [number, person] of samplePeople('seven', 8).entries()) {
      expect(person).toEqual(people[number])
      expect(logsOf(person, span)).toEqual(logs.get(person.kind))
      expect(tagsOf(person, span)).toEqual(tagsOf(people[number] ?? raise('person'), span))
    }
  })

  test('as in earlier versions, so that a database that one of them filled is not filled twice', () => {
    const digest = createHash('sha256')
    const days = { startMs: endMs - 4 * DAY, endMs }
    for (const person of samplePeople('seven', 16))
      digest.update(JSON.stringify([logsOf(person, days), tagsOf(person, days)]))
    expect(digest.digest('hex')).toBe('22a236722654f05462df2a39f938957717cad3c790d914e8d36ab9b32066cc32')
  })

  test('whatever the number of profiles asked for', () => {
    expect(samplePeople('seven', 3)).toEqual(samplePeople('seven', 30).slice(0, 3))
  })

  test('but another seed gives other logs', () => {
    const [other] = samplePeople('eight', 1)
    expect(logsOf(other ?? raise('person'), span)).not.toEqual(logsOfKind('office-worker'))
  })

  test('two spans that follow each other give the logs of the whole', () => {
    for (const person of people) {
      const boundaryMs = endMs - 9 * DAY - 5 * 60_000
      const before = logsOf(person, { startMs: span.startMs, endMs: boundaryMs })
      const after = logsOf(person, { startMs: boundaryMs, endMs })
      const whole = logs.get(person.kind) ?? []
      const byId = (all: SampleLog[]) => all.toSorted((a, b) => (a.id < b.id ? -1 : 1))
      expect(byId([...before, ...after])).toEqual(byId(whole))
    }
  })
})

describe('what the devices write', () => {
  test('is valid by the contract', () => {
    for (const log of [...logs.values()].flat()) dataLogInputSchema.parse(log)
    for (const person of people) {
      for (const tag of tagsOf(person, span)) tagInputSchema.parse(tag)
      if (person.kind === 'newcomer') continue
      demographicInputSchema.parse(sampleDemographicsOf(person, endMs))
      deviceInformationInputSchema.parse(deviceInformationOf(person, endMs))
    }
  })

  test('ends within the span and has an identity of its own', () => {
    const all = [...logs.values()].flat()
    expect(all.filter((log) => endOf(log) <= span.startMs || endOf(log) > span.endMs)).toEqual([])
    expect(new Set(all.map((log) => log.id)).size).toBe(all.length)
  })

  test('is minute to hour data, some five hundred logs a day where there is a watch', () => {
    for (const person of people.filter((person) => person.instruments.includes('watch'))) {
      const perDay = (logs.get(person.kind)?.length ?? 0) / days
      expect(perDay).toBeGreaterThan(380)
      expect(perDay).toBeLessThan(560)
    }
    expect(logsOfKind('phone-only').length / days).toBeGreaterThan(30)
  })

  test('covers the last day as well as the first', () => {
    for (const [kind, all] of logs) {
      if (kind === 'newcomer') continue
      const dayOf = (log: SampleLog) => Math.ceil((endOf(log) - span.startMs) / DAY)
      expect(new Set(all.map(dayOf)).size).toBe(days)
    }
  })

  test('is nothing at all for the newcomer', () => {
    const newcomer = personOfKind('newcomer')
    expect(logsOfKind('newcomer')).toEqual([])
    expect([tagsOf(newcomer, span), sampleDemographicsOf(newcomer, endMs)]).toEqual([[], undefined])
  })
})

describe('the data is plausible', () => {
  const stepsADay: Array<[SamplePerson['kind'], string, number, number]> = [
    ['office-worker', 'watch', 6500, 10_500],
    ['shift-worker', 'watch', 8000, 12_500],
    ['traveller', 'watch', 8500, 13_500],
    ['phone-only', 'phone', 5000, 9000],
    ['two-devices', 'watch', 8000, 12_500],
    ['two-devices', 'phone', 4000, 8000],
    ['night-owl', 'watch', 4500, 8000],
    ['runner', 'watch', 9500, 14_500],
  ]
  test.each(stepsADay)('%s takes steps a day as seen by the %s', (kind, deviceType, low, high) => {
    const steps = ofType(logsOfKind(kind), 'steps').filter((log) => log.deviceType === deviceType)
    expect(sumOf(steps) / days).toBeGreaterThan(low)
    expect(sumOf(steps) / days).toBeLessThan(high)
  })

  test('nobody takes more than 200 steps a minute, and nobody any in bed', () => {
    for (const all of logs.values()) {
      const beds = ofType(all, 'sleep_stage_in_bed')
      for (const log of ofType(all, 'steps')) {
        expect(log.value).toBeLessThanOrEqual((200 * (endOf(log) - startOf(log))) / 60_000)
        expect(beds.some((bed) => startOf(bed) <= startOf(log) && endOf(log) <= endOf(bed))).toBe(false)
      }
    }
  })

  test('the heart beats slowest asleep and fastest at sport', () => {
    for (const kind of ['office-worker', 'runner'] as const) {
      const beats = ofType(logsOfKind(kind), 'heart_rate')
      const during = (spans: readonly SampleLog[]) =>
        beats.filter((log) => spans.some((span) => startOf(span) <= startOf(log) && startOf(log) < endOf(span)))
      const mean = (all: readonly SampleLog[]) => sumOf(all) / all.length
      const sport = logsOfKind(kind).filter((log) => log.logType === 'exercise')
      expect(mean(during(sport))).toBeGreaterThan(mean(beats) + 20)
      expect(mean(during(nightsOf(logsOfKind(kind))))).toBeLessThan(mean(beats) - 3)
      for (const log of beats) expect(log.value > 35 && log.value < 205).toBe(true)
    }
  })

  test('sleep lasts six to eight hours, with deep and dream sleep, latency and awakenings', () => {
    for (const kind of ['office-worker', 'shift-worker', 'traveller', 'night-owl', 'runner'] as const) {
      const all = logsOfKind(kind)
      const nights = nightsOf(all)
      const shareOf = (type: string) => sumOf(ofType(all, type)) / sumOf(ofType(all, ...asleep))
      expect(sumOf(ofType(all, ...asleep)) / nights.length).toBeGreaterThan(360)
      expect(sumOf(ofType(all, ...asleep)) / nights.length).toBeLessThan(490)
      expect(shareOf('sleep_stage_deep')).toBeGreaterThan(0.1)
      expect(shareOf('sleep_stage_deep')).toBeLessThan(0.25)
      expect(shareOf('sleep_stage_rem')).toBeGreaterThan(0.15)
      expect(shareOf('sleep_stage_rem')).toBeLessThan(0.3)
      expect(sumOf(ofType(all, 'sleep_stage_awake')) / nights.length).toBeGreaterThan(12)
    }
  })

  test('the stages of a night fill its time in bed without gap or overlap', () => {
    const all = logsOfKind('runner')
    for (const night of ofType(all, 'sleep_stage_in_bed')) {
      const stages = all.filter((log) => log.parentId === night.id).toSorted((a, b) => startOf(a) - startOf(b))
      if (startOf(night) <= span.startMs) continue
      let reached = startOf(night)
      for (const stage of stages) {
        expect(startOf(stage)).toBe(reached)
        reached = endOf(stage)
      }
      expect(reached).toBe(endOf(night))
    }
  })

  test('each kind lives at its own hours', () => {
    const clock = (text: string) => Number(text.slice(11, 13)) + Number(text.slice(14, 16)) / 60
    const middle = (kind: SamplePerson['kind']) => {
      const wakes = nightsOf(logsOfKind(kind)).map((log) => clock(log.endDateTime))
      return wakes.toSorted((a, b) => a - b)[Math.floor(wakes.length / 2)] ?? 0
    }
    expect(middle('runner')).toBeLessThan(6.5)
    expect(middle('office-worker')).toBeGreaterThan(6.3)
    expect(middle('office-worker')).toBeLessThan(7.5)
    expect(middle('night-owl')).toBeGreaterThan(9.3)
    const byDay = nightsOf(logsOfKind('shift-worker')).filter(
      (log) => clock(log.startDateTime) > 6 && clock(log.startDateTime) < 12,
    )
    expect(byDay.length).toBeGreaterThan(days / 5)
  })

  test('two devices see the same walks at the same time', () => {
    const steps = ofType(logsOfKind('two-devices'), 'steps')
    const [worn, carried] = ['watch', 'phone'].map((type) => steps.filter((log) => log.deviceType === type))
    const overlapping = (carried ?? []).filter((log) =>
      (worn ?? []).some((other) => startOf(other) < endOf(log) && startOf(log) < endOf(other)),
    )
    expect(overlapping.length).toBeGreaterThan((carried?.length ?? 0) * 0.9)
  })
})

describe('offsets are those of the place', () => {
  const clockOf = (zone: string) => {
    const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
    return (atMs: number) => format.format(atMs).replace(' ', 'T')
  }

  test.each([
    ['office-worker', 'Europe/London'],
    ['shift-worker', 'Pacific/Auckland'],
    ['two-devices', 'America/Los_Angeles'],
  ] as const)('the clocks of the %s are those of %s, across the change of October or November', (kind, zone) => {
    const shown = clockOf(zone)
    const wrong = logsOfKind(kind).filter(
      (log) =>
        log.startDateTime.slice(0, 19) !== shown(startOf(log)) || log.endDateTime.slice(0, 19) !== shown(endOf(log)),
    )
    expect(wrong).toEqual([])
    expect(new Set(logsOfKind(kind).map((log) => log.startDateTime.slice(19))).size).toBe(2)
  })

  test('the logs of the traveller have the offset of every place, and tags say when', () => {
    const all = logsOfKind('traveller')
    const offsets = new Set(all.map((log) => log.startDateTime.slice(19)))
    expect(offsets.size).toBeGreaterThanOrEqual(4)
    const journeys = tagsOf(personOfKind('traveller'), span).filter((tag) => tag.type === 'state')
    expect(journeys.length).toBeGreaterThanOrEqual(3)
    const abroad = all.filter((log) => !['+01:00', '+02:00'].includes(log.startDateTime.slice(19))).length / all.length
    expect(abroad).toBeGreaterThan(0.25)
    expect(abroad).toBeLessThan(0.55)
  })
})

describe('thousands of people', () => {
  const many = samplePeople('seven', 2000)

  test('have names of their own and come in all kinds', () => {
    expect(new Set(many.map((person) => person.externalId)).size).toBe(2000)
    expect(many.every((person) => person.externalId.startsWith('SampleProfile-'))).toBe(true)
    expect(new Set(many.map((person) => person.kind)).size).toBe(8)
  })

  test('differ from one another within a kind', () => {
    const runners = many.filter((person) => person.kind === 'runner')
    expect(new Set(runners.map((person) => person.heightM)).size).toBeGreaterThan(20)
    expect(new Set(runners.map((person) => person.homeZone)).size).toBeGreaterThan(2)
  })

  test('write fewer logs a day beyond the first, and stay valid and in full days', () => {
    expect(many.filter((person) => person.detail === 'rich').length).toBe(richPeopleMax)
    const sparse = many.slice(992, 1000).flatMap((person) => logsOf(person, span))
    expect(sparse.length / 7 / days).toBeGreaterThan(8)
    expect(sparse.length / 7 / days).toBeLessThan(25)
    for (const log of sparse) dataLogInputSchema.parse(log)
  })
})
