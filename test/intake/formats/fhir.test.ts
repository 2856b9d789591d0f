import { expect, test } from 'vitest'
import { fhir } from '../../../src/intake/formats/fhir.ts'
import { fileOf, importInto, importOne } from '../../support/health-files.ts'

const options = { timeZone: 'Australia/Sydney', formats: [fhir] }
const code = (loinc: string) => ({
  coding: [
    { system: 'http://snomed.info/sct', code: '1' },
    { system: 'http://loinc.org', code: loinc },
  ],
})
const quantity = (value: number, unit: string) => ({ value, unit, system: 'http://unitsofmeasure.org', code: unit })
const observation = (loinc: string, more: object) => ({
  resourceType: 'Observation',
  status: 'final',
  code: code(loinc),
  subject: { reference: 'Patient/1' },
  effectiveDateTime: '2026-07-01T08:00:00+10:00',
  ...more,
})
const bundle = (...resources: object[]) =>
  fileOf(
    'bundle.json',
    JSON.stringify(
      { resourceType: 'Bundle', type: 'collection', entry: resources.map((resource) => ({ resource })) },
      null,
      1,
    ),
  )

test('a bundle has observations by LOINC and UCUM; a panel has the values of its components', async () => {
  const panel = observation('85354-9', {
    component: [
      { code: code('8480-6'), valueQuantity: quantity(121, 'mm[Hg]') },
      { code: code('8462-4'), valueQuantity: quantity(79, 'mm[Hg]') },
    ],
  })
  const { logs, rejects, reports } = await importOne(
    bundle(
      { resourceType: 'Patient', id: '1' },
      observation('29463-7', { valueQuantity: quantity(160, '[lb_av]') }),
      observation('8310-5', { valueQuantity: quantity(98.6, '[degF]') }),
      observation('2339-0', { valueQuantity: quantity(90.08, 'mg/dL') }),
      panel,
      observation('80404-7', { valueQuantity: quantity(48, 'ms') }),
      observation('8867-4', { valueQuantity: quantity(60, 'furlong') }),
      observation('1234-5', { valueQuantity: quantity(1, '1') }),
      observation('8867-4', { valueQuantity: quantity(60, '/min'), status: 'entered-in-error' }),
    ),
    options,
  )

  expect(logs.map(({ dataType, value }) => [dataType, value])).toEqual([
    ['weight', 72.5748],
    ['body_temperature', 37],
    ['blood_glucose', 5],
    ['blood_pressure_systolic', 121],
    ['blood_pressure_diastolic', 79],
    ['heart_rate_variability_sdnn', 48],
  ])
  expect(rejects.map(({ place, reason }) => [place, reason])).toEqual([
    ['record 7', 'unit: is not known for this type'],
  ])
  expect(reports[0]?.leftOut.map(({ reason }) => reason)).toEqual([
    'a resource that is no Observation',
    'an observation whose code has nothing for us',
    'an observation that does not count',
  ])
})

test('a date is a local day, and the steps of a day become a daily log; another subject is another person', async () => {
  const { logs, rejects } = await importOne(
    bundle(
      observation('41950-7', { effectiveDateTime: '2026-10-04', valueQuantity: quantity(9000, '{steps}') }),
      observation('8867-4', { subject: { reference: 'Patient/2' }, valueQuantity: quantity(60, '/min') }),
    ),
    options,
  )

  expect(
    logs.map(({ value, startDateTime, endDateTime, periodicity }) => [value, startDateTime, endDateTime, periodicity]),
  ).toEqual([[9000, '2026-10-04T00:00:00+10:00', '2026-10-04T23:59:59+11:00', 'daily']])
  expect(rejects.map(({ reason }) => reason)).toEqual(['another person than that of the first observation'])
})

test('the same observation in a bundle and in a line is one, and the newer form wins', async () => {
  const outbox = new Map<string, string>()
  const first = observation('29463-7', {
    id: 'w',
    valueQuantity: quantity(72, 'kg'),
    meta: { lastUpdated: '2026-07-01T00:00:00Z' },
  })
  const second = { ...first, valueQuantity: quantity(71, 'kg'), meta: { lastUpdated: '2026-07-02T00:00:00Z' } }
  await importInto(outbox, [bundle(first)], options)
  const lines = fileOf('Observation.ndjson', `${JSON.stringify(second)}\n${JSON.stringify(second)}\nbroken\n`)
  const { logs, rejects } = await importInto(outbox, [lines], options)

  expect(logs.map(({ value, modifiedDateTime }) => [value, modifiedDateTime])).toEqual([
    [71, '2026-07-02T00:00:00.000Z'],
  ])
  expect(rejects.map(({ place }) => place)).toEqual(['record 3'])
})
