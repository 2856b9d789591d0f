import { expect, test } from 'vitest'
import { openMhealth } from '../../../src/intake/formats/open-mhealth.ts'
import { fileOf, importInto, importOne } from '../../support/health-files.ts'

const options = { formats: [openMhealth] }
let number = 0
const point = (name: string, body: object, header: object = {}) => {
  number += 1
  return {
    header: {
      id: `point-${number}`,
      creation_date_time: '2026-07-02T00:00:00Z',
      schema_id: { namespace: 'omh', name, version: '2.0' },
      acquisition_provenance: { source_name: 'Shimmer', modality: 'sensed' },
      ...header,
    },
    body,
  }
}
const at = { effective_time_frame: { date_time: '2026-07-01T22:30:00-07:00' } }
const interval = (time_interval: object) => ({ effective_time_frame: { time_interval } })
const list = (...points: object[]) => fileOf('points.json', JSON.stringify(points))

test('units become ours, a bare count too; an interval has two of start, end and length', async () => {
  const day = interval({ start_date_time: '2026-07-01T00:00:00-07:00', duration: { value: 1, unit: 'd' } })
  const hour = interval({ end_date_time: '2026-07-01T09:00:00-07:00', duration: { value: 60, unit: 'min' } })
  const { logs, rejects } = await importOne(
    list(
      point('body-weight', { body_weight: { value: 160, unit: 'lb' }, ...at }),
      point('body-temperature', { body_temperature: { value: 98.6, unit: 'F' }, ...at }),
      point('step-count', { step_count: 9000, ...day }),
      point('step-count', { step_count: { value: 500, unit: 'steps' }, ...hour }),
      point('blood-pressure', {
        systolic_blood_pressure: { value: 121, unit: 'mmHg' },
        diastolic_blood_pressure: { value: 79, unit: 'mmHg' },
        ...at,
      }),
      point('body-weight', { body_weight: { value: 11, unit: 'stone' }, ...at }),
      point('heart-rate', {
        heart_rate: { value: 60, unit: 'beats/min' },
        ...interval({ date: '2026-07-01', part_of_day: 'morning' }),
      }),
    ),
    options,
  )

  expect(
    logs.map(({ dataType, value, startDateTime, periodicity }) => [dataType, value, startDateTime, periodicity]),
  ).toEqual([
    ['weight', 72.5748, '2026-07-01T22:30:00-07:00', undefined],
    ['body_temperature', 37, '2026-07-01T22:30:00-07:00', undefined],
    ['steps', 9000, '2026-07-01T00:00:00-07:00', 'daily'],
    ['steps', 500, '2026-07-01T08:00:00-07:00', undefined],
    ['blood_pressure_systolic', 121, '2026-07-01T22:30:00-07:00', undefined],
    ['blood_pressure_diastolic', 79, '2026-07-01T22:30:00-07:00', undefined],
  ])
  expect(rejects.map(({ place, reason }) => [place, reason])).toEqual([
    ['record 6', 'unit: is not known for this type'],
    ['record 7', 'effective_time_frame: is no moment and no interval'],
  ])
})

test('variability is RMSSD or SDNN by its algorithm, and none without one; statistics of other points are left out', async () => {
  const variability = (algorithm?: string) =>
    point('heart-rate-variability', { heart_rate_variability: { value: 42, unit: 'ms' }, algorithm, ...at })
  const maximum = point('heart-rate', {
    heart_rate: { value: 160, unit: 'beats/min' },
    descriptive_statistic: 'maximum',
    ...at,
  })
  const mean = point('step-count', { step_count: 6000, descriptive_statistic: 'average', ...at })
  const { logs, reports } = await importOne(
    list(variability('RMSSD'), variability('SDNN'), variability(), maximum, mean),
    options,
  )

  expect(logs.map(({ dataType }) => dataType)).toEqual(['heart_rate_variability_rmssd', 'heart_rate_variability_sdnn'])
  expect(reports[0]?.leftOut).toEqual([
    { reason: 'a statistic of other data points', records: 2 },
    { reason: 'a variability whose algorithm is neither RMSSD nor SDNN', records: 1 },
  ])
})

test('a header of IEEE 1752.1 is read, one point a line, and a broken line costs only itself', async () => {
  const ieee = point(
    'heart-rate',
    { heart_rate: { value: 61, unit: 'beats/min' }, ...at },
    {
      id: undefined,
      uuid: 'own',
      modality: 'self-reported',
      acquisition_provenance: { source_name: 'Shimmer' },
      schema_id: { namespace: 'ieee', name: 'heart-rate', version: '1.0' },
    },
  )
  const lines = fileOf('points.ndjson', `${JSON.stringify(ieee)}\nnonsense\n${JSON.stringify(ieee)}\n`)
  const { logs, rejects, progress } = await importInto(new Map(), [lines], options)

  expect(logs.map(({ value, recordingMethod }) => [value, recordingMethod])).toEqual([[61, 'manual_entry']])
  expect(progress).toMatchObject({ accepted: 1, duplicate: 1 })
  expect(rejects.map(({ place, reason }) => [place, reason])).toEqual([
    ['record 2', 'no data point: it has no header with a schema'],
  ])
})
