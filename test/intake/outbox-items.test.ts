import { expect, test } from 'vitest'
import { createOffsetCompleter } from '../../src/intake/complete-offsets.ts'
import { type ItemOptions, toItem, unknownColumns } from '../../src/intake/outbox-items.ts'
import { pushedByName } from '../support/stream-by-name.ts'

const options: ItemOptions = {
  stream: pushedByName('data-logs'),
  format: 'ndjson',
  completeOffset: (text) => text,
  replace: false,
  nowMs: 1000,
}
const log = {
  externalId: 'ada',
  logType: 'heart',
  dataType: 'heart_rate',
  value: 61.5,
  unit: 'bpm',
  source: 'watch',
  recordingMethod: 'unknown',
  deviceType: 'watch',
  startDateTime: '2026-07-11T00:00:00+12:00',
  endDateTime: '2026-07-11T00:01:00+12:00',
}

function itemOf(fields: Record<string, unknown>, changed: Partial<ItemOptions> = {}) {
  const read = toItem(fields, { ...options, ...changed })
  if ('fault' in read) throw new Error(read.fault)
  return { ...read.item, body: JSON.parse(read.item.body) }
}

test('a log without an id gets one by what it measures, whatever the value and the spelling of its times', () => {
  const first = itemOf(log)
  const corrected = itemOf({ ...log, value: 62, startDateTime: '2026-07-10T12:00:00Z' })
  const others = [{ externalId: 'grace' }, { source: 'phone' }, { endDateTime: '2026-07-11T00:02:00+12:00' }]

  expect(corrected.itemKey).toBe(first.itemKey)
  expect(first.body).toMatchObject({ id: first.itemKey, value: 61.5 })
  expect(first.body).not.toHaveProperty('externalId')
  for (const other of others) expect(itemOf({ ...log, ...other }).itemKey).not.toBe(first.itemKey)
})

test('an id that is there stays, as one spelling', () => {
  const id = '3903B37B-AF9F-5BCD-9D86-D4DE367D151F'

  expect(itemOf({ ...log, id })).toMatchObject({ itemKey: id.toLowerCase(), body: { id: id.toLowerCase() } })
})

test('every fault is named by its field, and no value is repeated', () => {
  const read = toItem({ ...log, value: 'secret-61', logType: 'hart', endDateTime: 'soon' }, options)

  expect(read).toEqual({ fault: expect.stringMatching(/logType: .*value: .*endDateTime: /s) })
  expect(JSON.stringify(read)).not.toMatch(/secret|hart\b|soon/)
})

test('an externalId of no length, or too long, or no text is a fault', () => {
  for (const externalId of ['', 'x'.repeat(101), 7, undefined]) {
    expect(toItem({ ...log, externalId }, options)).toEqual({ fault: expect.stringContaining('externalId') })
  }
})

test('cells become numbers and properties', () => {
  const cells = { ...log, value: '61.5', 'additionalProperties.bodyPosition': 'sitting' }
  const { body } = itemOf(cells, { format: 'csv' })

  expect(body).toMatchObject({ value: 61.5, additionalProperties: { bodyPosition: 'sitting' } })
  expect(toItem({ ...cells, value: 'many' }, { ...options, format: 'csv' })).toHaveProperty('fault')
})

test('a tag is known by type, name, source and start; snapshots by one word', () => {
  const tag = {
    externalId: 'ada',
    type: 'event',
    name: 'coffee',
    source: 'diary',
    startDateTime: '2026-07-11T00:00:00Z',
  }
  const key = itemOf(tag, { stream: pushedByName('tags') }).itemKey

  expect(itemOf({ ...tag, value: '2' }, { stream: pushedByName('tags') }).itemKey).toBe(key)
  expect(itemOf({ ...tag, name: 'tea' }, { stream: pushedByName('tags') }).itemKey).not.toBe(key)
  expect(itemOf({ externalId: 'ada', age: 40 }, { stream: pushedByName('demographics') })).toMatchObject({
    itemKey: 'demographics',
    mode: 'patch',
    startAtMs: 1000,
  })
  expect(itemOf({ externalId: 'ada', age: 40 }, { stream: pushedByName('demographics'), replace: true }).mode).toBe(
    'put',
  )
})

test('columns that no item has are named', () => {
  expect(unknownColumns(pushedByName('data-logs'), ['externalId', 'value', 'valeu', 'additionalProperties.x'])).toEqual(
    ['valeu'],
  )
  expect(unknownColumns(pushedByName('demographics'), ['externalId', 'age', 'additionalProperties.x'])).toEqual([
    'additionalProperties.x',
  ])
})

const zones: ReadonlyArray<[zone: string, local: string, whole: string]> = [
  ['Europe/Berlin', '2026-07-11T06:00:00', '2026-07-11T06:00:00+02:00'],
  ['Europe/Berlin', '2026-01-11 06:00', '2026-01-11T06:00+01:00'],
  // The hour that happens twice is the first, the hour that never was counts from before the change.
  ['Europe/Berlin', '2026-10-25T02:30:00', '2026-10-25T02:30:00+02:00'],
  ['Europe/Berlin', '2026-10-25T03:00:00', '2026-10-25T03:00:00+01:00'],
  ['Europe/Berlin', '2026-03-29T02:30:00', '2026-03-29T02:30:00+01:00'],
  ['Europe/Berlin', '2026-03-29T03:00:00', '2026-03-29T03:00:00+02:00'],
  ['Pacific/Apia', '2026-07-11', '2026-07-11T00:00:00+13:00'],
  ['Asia/Kathmandu', '2026-07-11T06:00:00.5', '2026-07-11T06:00:00.5+05:45'],
  ['America/St_Johns', '2026-01-11T06:00:00', '2026-01-11T06:00:00-03:30'],
  ['Europe/Berlin', '2026-07-11T06:00:00Z', '2026-07-11T06:00:00Z'],
  ['Europe/Berlin', 'soon', 'soon'],
]

test.for(zones)('in %s, %s is %s', ([zone, local, whole]) => {
  expect(createOffsetCompleter(zone)(local)).toBe(whole)
})

test('each date-time of a log gets an offset when it has none', () => {
  const names = ['startDateTime', 'endDateTime', 'postDateTime', 'modifiedDateTime']
  const fields = { ...log, ...Object.fromEntries(names.map((name) => [name, '2026-07-11T08:00:00'])) }
  const { body } = itemOf(fields, { completeOffset: (text) => `${text}+02:00` })

  for (const name of names) expect(body[name], name).toBe('2026-07-11T08:00:00+02:00')
})

test('a log carries when it was handed in, which is no field of it; a later time than now, and another text, are faults', () => {
  const csv = { ...log, value: '61.5', handedInAt: '' }

  expect(itemOf({ ...log, handedInAt: '1970-01-01T00:00:01Z' })).toMatchObject({ evidence: { handedInAtMs: 1000 } })
  expect(itemOf({ ...log, handedInAt: '1970-01-01T00:00:01Z' }).body).toEqual(itemOf(log).body)
  expect(itemOf(csv, { format: 'csv' }).evidence).toEqual({ ...itemOf(log).evidence, handedInAtMs: undefined })
  expect(unknownColumns(options.stream, ['externalId', 'handedInAt'])).toEqual([])
  for (const handedInAt of ['1970-01-01T00:00:02Z', 'soon', 7])
    expect(toItem({ ...log, handedInAt }, options)).toEqual({ fault: expect.stringMatching(/^handedInAt: /) })
  expect(
    toItem(
      { externalId: 'ada', handedInAt: '1970-01-01T00:00:01Z', tagId: 'x' },
      { ...options, stream: pushedByName('tags') },
    ),
  ).toHaveProperty('fault')
})
