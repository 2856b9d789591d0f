import { describe, expect, test } from 'vitest'
import { dataLogInputSchema } from '../../../src/base/contract/data-log.ts'
import { fileOf, importInto, importOne, type PushedLog } from '../../support/health-files.ts'

const head = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE HealthData [
<!-- HealthKit Export Version: 14 -->
<!ELEMENT HealthData (ExportDate,Me,(Record|Workout)*)>
<!ATTLIST HealthData locale CDATA #REQUIRED>
]>
<HealthData locale="de_DE">
`
const exportOf = (...elements: string[]) => fileOf('导出.xml', `${head}${elements.join('\n')}\n</HealthData>\n`, 700)

type Told = { type: string; unit?: string; value: string; at?: string; until?: string; more?: string; inner?: string }
const at9 = '2026-03-02 09:00:00 +0200'
const record = ({ type, unit = '', value, at = at9, until = at, more = '', inner = '' }: Told) =>
  `<Record type="HK${type}" sourceName="Watch" unit="${unit}" creationDate="${until}" startDate="${at}" endDate="${until}" ${more} value="${value}">${inner}</Record>`
const quantity = (name: string, unit: string, value: string, rest: Partial<Told> = {}) =>
  record({ type: `QuantityTypeIdentifier${name}`, unit, value, ...rest })
const sleep = (value: string, at: string, until: string, more = '') =>
  record({
    type: 'CategoryTypeIdentifierSleepAnalysis',
    value: `HKCategoryValueSleepAnalysis${value}`,
    at,
    until,
    more,
  })
const values = (logs: readonly PushedLog[]) => logs.map(({ dataType, value, unit }) => [dataType, value, unit])

describe('units', () => {
  test('energy in kilojoules and lengths in feet become ours, and percentages from 0 to 1 become percent', async () => {
    const { logs } = await importOne(
      exportOf(
        quantity('ActiveEnergyBurned', 'kJ', '41.84', { until: '2026-03-02 09:10:00 +0200' }),
        quantity('BasalEnergyBurned', 'Cal', '12', { until: '2026-03-02 09:10:00 +0200' }),
        quantity('OxygenSaturation', '%', '0.97'),
        quantity('BodyFatPercentage', '%', '0.215'),
        quantity('BodyMass', 'lb', '160'),
        quantity('Height', 'ft', '6'),
        quantity('BodyTemperature', 'degF', '98.6'),
        quantity('BloodGlucose', 'mg/dL', '90.08'),
        quantity('WalkingSpeed', 'km/hr', '5.4'),
      ),
    )

    expect(values(logs)).toEqual([
      ['active_energy_burned', 10, 'kcal'],
      ['basal_energy_burned', 12, 'kcal'],
      ['oxygen_saturation', 97, 'percent'],
      ['body_fat', 21.5, 'percent'],
      ['weight', 72.5748, 'kg'],
      ['height', 1.8288, 'm'],
      ['body_temperature', 37, 'degC'],
      ['blood_glucose', 5, 'mmol/L'],
      ['walking_speed', 1.5, 'm/s'],
    ])
    for (const log of logs) dataLogInputSchema.parse(log)
  })

  test('an unknown unit is rejected, never taken for ours', async () => {
    const { logs, reports } = await importOne(exportOf(quantity('BodyMass', 'stone', '11')))

    expect(logs).toEqual([])
    expect(reports[0]?.rejected).toEqual([{ reason: 'unit: is not known for this type', records: 1 }])
  })

  test('variability is SDNN, never RMSSD', async () => {
    const { logs } = await importOne(exportOf(quantity('HeartRateVariabilitySDNN', 'ms', '48.5')))

    expect(values(logs)).toEqual([['heart_rate_variability_sdnn', 48.5, 'ms']])
  })
})

describe('days', () => {
  // Exported in summer: both printed in +0200. Berlin was at +01:00 in winter, when 00:30 +0200 was 23:30 the day before.
  const elements = [
    quantity('StepCount', 'count', '10', { at: '2026-01-16 00:30:00 +0200', until: '2026-01-16 00:40:00 +0200' }),
    quantity('StepCount', 'count', '20', { at: '2026-07-16 00:30:00 +0200', until: '2026-07-16 00:40:00 +0200' }),
  ]

  test('are those of --time-zone, across a change of clocks', async () => {
    const { logs, reports } = await importOne(exportOf(...elements), { timeZone: 'Europe/Berlin' })

    expect(logs.map(({ startDateTime }) => startDateTime)).toEqual([
      '2026-01-15T23:30:00+01:00',
      '2026-07-16T00:30:00+02:00',
    ])
    expect(reports[0]).toMatchObject({ firstDay: '2026-01-15', lastDay: '2026-07-16' })
  })

  test('are without it those of the offset that is printed, and the ids are the same', async () => {
    const [printed, placed] = [
      await importOne(exportOf(...elements)),
      await importOne(exportOf(...elements), { timeZone: 'Asia/Tokyo' }),
    ]

    expect(printed.logs[0]?.startDateTime).toBe('2026-01-16T00:30:00+02:00')
    expect(printed.logs.map(({ id }) => id)).toEqual(placed.logs.map(({ id }) => id))
  })
})

describe('a record that the export holds twice counts once', () => {
  test('exact copies, and the records of a correlation that stand on the top level as well', async () => {
    const systolic = quantity('BloodPressureSystolic', 'mmHg', '121')
    const diastolic = quantity('BloodPressureDiastolic', 'mmHg', '79')
    const { logs, reports } = await importOne(
      exportOf(
        systolic,
        diastolic,
        systolic,
        `<Correlation type="HKCorrelationTypeIdentifierBloodPressure" startDate="${at9}" endDate="${at9}">${systolic}${diastolic}</Correlation>`,
      ),
    )

    expect(values(logs)).toEqual([
      ['blood_pressure_systolic', 121, 'mmHg'],
      ['blood_pressure_diastolic', 79, 'mmHg'],
    ])
    expect(reports[0]).toMatchObject({ read: 5, mapped: 5, accepted: 2, duplicate: 3 })
  })

  test('of two values of one moment the first counts, so that the same file again adds nothing', async () => {
    const outbox = new Map<string, string>()
    const file = exportOf(...['60', '61', '60'].map((value) => quantity('HeartRate', 'count/min', value)))
    const first = await importInto(outbox, [file])
    const again = await importInto(outbox, [file])

    expect(first.logs.map(({ value }) => value)).toEqual([60])
    expect(first.progress).toMatchObject({ accepted: 1, duplicate: 2, position: 3, line: 3 })
    expect(again.progress).toMatchObject({ accepted: 0, duplicate: 3 })
  })

  test('a newer export that contains the older one adds only new records, and its changed records win', async () => {
    const outbox = new Map<string, string>()
    const first = quantity('BodyMass', 'kg', '70')
    const corrected = quantity('BodyMass', 'kg', '69').replace(
      /creationDate="[^"]+"/,
      'creationDate="2026-03-05 09:00:00 +0100"',
    )
    const later = quantity('BodyMass', 'kg', '71', { at: '2026-03-09 09:00:00 +0100' })
    await importInto(outbox, [exportOf(first)])
    // The phone exports in another offset by now: the instants are the same.
    const moved = first.replaceAll('09:00:00 +0200', '08:00:00 +0100')
    const second = await importInto(outbox, [exportOf(moved, later)], { timeZone: 'Europe/Berlin' })
    await importInto(outbox, [exportOf(corrected)])

    expect(second.logs).toHaveLength(2)
    expect(
      [...outbox.values()]
        .map((body) => JSON.parse(body))
        .map(({ value, modifiedDateTime }) => [value, modifiedDateTime]),
    ).toEqual([
      [69, '2026-03-05T08:00:00.000Z'],
      [71, '2026-03-09T08:00:00.000Z'],
    ])
  })

  test('devices are one whatever memory address and software each record names', async () => {
    const device = (index: number) =>
      `device="&lt;&lt;HKDevice: 0x28${index.toString(16)}e60&gt;, name:Apple Watch, manufacturer:Apple Inc., model:Watch, hardware:Watch6,1, software:9.${index}&gt;"`
    const beats = Array.from({ length: 73 }, (_, index) =>
      quantity('HeartRate', 'count/min', '60', {
        at: `2026-03-02 09:${String(index % 60).padStart(2, '0')}:0${Math.floor(index / 60)} +0200`,
        more: device(index),
      }),
    )
    const { logs, reports } = await importOne(exportOf(...beats))

    expect(logs).toHaveLength(73)
    expect(new Set(logs.map(({ deviceId }) => deviceId)).size).toBe(1)
    expect(reports[0]?.devices).toEqual(['Watch (watch)'])
  })
})

describe('sleep and workouts', () => {
  test('stages are distinguished from the time in bed around them, by old and new names', async () => {
    const { logs } = await importOne(
      exportOf(
        sleep('InBed', '2026-03-01 22:30:00 +0200', '2026-03-02 06:30:00 +0200'),
        sleep('AsleepCore', '2026-03-01 23:00:00 +0200', '2026-03-02 03:00:00 +0200'),
        sleep('AsleepDeep', '2026-03-02 03:00:00 +0200', '2026-03-02 04:00:00 +0200'),
        sleep('AsleepREM', '2026-03-02 04:00:00 +0200', '2026-03-02 05:30:00 +0200'),
        sleep('Awake', '2026-03-02 05:30:00 +0200', '2026-03-02 05:40:00 +0200'),
        sleep('Asleep', '2020-03-02 04:00:00 +0200', '2020-03-02 05:30:00 +0200'),
      ),
    )

    expect(values(logs).map(([dataType, value]) => [dataType, value])).toEqual([
      ['sleep_stage_in_bed', 480],
      ['sleep_stage_light', 240],
      ['sleep_stage_deep', 60],
      ['sleep_stage_rem', 90],
      ['sleep_stage_awake', 10],
      ['sleep_stage_sleeping', 90],
    ])
  })

  test('the schedule of an iPhone is no time in bed; a start that the phone measured is one', async () => {
    const settings = `<MetadataEntry key="_HKPrivateSleepAlarmUserWakeTime" value="2026-02-18 05:30:00 +0000"/>
      <MetadataEntry key="_HKPrivateSleepAlarmUserSetBedtime" value="2026-02-15 22:30:00 +0000"/>`
    const inBed = (at: string, until: string, inner = settings) =>
      record({
        type: 'CategoryTypeIdentifierSleepAnalysis',
        value: 'HKCategoryValueSleepAnalysisInBed',
        at: `2026-03-02 ${at} +0200`,
        until: `2026-03-02 ${until} +0200`,
        inner,
      })
    const { logs, reports } = await importOne(
      exportOf(
        inBed('00:30:00', '07:30:22'),
        inBed('01:01:00', '07:30:28'),
        inBed('00:30:00', '06:10:00'),
        inBed('00:30:00', '07:30:22', ''),
      ),
    )

    expect(
      logs.map(({ startDateTime, endDateTime }) => [startDateTime.slice(11, 16), endDateTime.slice(11, 16)]),
    ).toEqual([
      ['01:01', '07:30'],
      ['00:30', '06:10'],
      ['00:30', '07:30'],
    ])
    expect(reports[0]?.leftOut).toEqual([
      {
        reason: 'HKCategoryTypeIdentifierSleepAnalysis: the bedtime and the alarm of the person’s settings',
        records: 1,
      },
    ])
  })

  test('totals of a workout come from its attributes or its elements, and are no logs beside the records', async () => {
    const dates = `startDate="2026-03-02 18:00:00 +0200" endDate="2026-03-02 18:30:00 +0200"`
    const { logs } = await importOne(
      exportOf(
        `<Workout workoutActivityType="HKWorkoutActivityTypeRunning" sourceName="Watch" ${dates} totalDistance="5" totalDistanceUnit="km" totalEnergyBurned="418.4" totalEnergyBurnedUnit="kJ"/>`,
        `<Workout workoutActivityType="HKWorkoutActivityTypeTraditionalStrengthTraining" sourceName="Watch" ${dates}>
          <MetadataEntry key="HKIndoorWorkout" value="1"/>
          <WorkoutStatistics type="HKQuantityTypeIdentifierActiveEnergyBurned" ${dates} sum="120" unit="kcal"/>
        </Workout>`,
      ),
    )

    expect(logs.map(({ dataType, value, additionalProperties }) => [dataType, value, additionalProperties])).toEqual([
      ['exercise_session_running', 30, { activeEnergyKcal: '100', distanceM: '5000' }],
      ['exercise_session_strength_training', 30, { activeEnergyKcal: '120' }],
    ])
  })
})

test('a date-time that there is not is rejected, and the first years are not taken for those after 1900', async () => {
  const dates = ['0026-03-02 09:00:00 +0200', '2026-13-02 09:00:00 +0200', '2026-02-29 09:00:00 +0200']
  const times = ['2026-03-02 24:00:00 +0200', '2026-03-02 09:60:00 +0200', '2024-02-29 23:59:59 +0200']
  const { logs, rejects } = await importOne(
    exportOf(...[...dates, ...times].map((at) => quantity('HeartRate', 'count/min', '60', { at }))),
  )

  expect(logs.map(({ startDateTime }) => startDateTime)).toEqual(['2024-02-29T23:59:59+02:00'])
  expect(rejects.map(({ place }) => place)).toEqual([1, 2, 3, 4, 5].map((number) => `record ${number}`))
})

describe('what no person can have', () => {
  test('is rejected with place and reason, and without the value in the reason', async () => {
    const { logs, reports, rejects } = await importOne(
      exportOf(
        quantity('HeartRate', 'count/min', '251'),
        quantity('HeartRate', 'count/min', '250'),
        quantity('OxygenSaturation', '%', '0.49'),
        quantity('StepCount', 'count', '3001', { until: '2026-03-02 09:10:00 +0200' }),
        quantity('StepCount', 'count', '3000', { until: '2026-03-02 09:10:00 +0200' }),
        quantity('HeartRate', 'count/min', 'quick'),
        quantity('HeartRate', 'count/min', '60', { at: 'yesterday' }),
        sleep('Asleep', '2026-03-02 05:30:00 +0200', '2026-03-02 04:30:00 +0200'),
      ),
    )

    expect(values(logs).map(([dataType, value]) => [dataType, value])).toEqual([
      ['heart_rate', 250],
      ['steps', 3000],
    ])
    expect(rejects.map(({ place, reason }) => [place, reason])).toEqual([
      ['record 1', 'heart_rate lies outside 25 to 250'],
      ['record 3', 'oxygen_saturation lies outside 50 to 100'],
      ['record 4', 'steps is more than 300 a minute'],
      ['record 6', 'value: is no number'],
      ['record 7', 'startDate or endDate: is no date-time with an offset'],
      ['record 8', 'it ends before it starts'],
    ])
    expect(reports[0]).toMatchObject({ read: 8, mapped: 2 })
  })

  test('records without a measure of ours are left out by their type, days’ sums too', async () => {
    const { logs, reports } = await importOne(
      exportOf(
        '<ActivitySummary dateComponents="2026-03-02" activeEnergyBurned="500" activeEnergyBurnedUnit="kcal"/>',
        quantity('DietaryWater', 'mL', '300'),
        quantity('DietaryWater', 'mL', '200'),
      ),
    )

    expect(logs).toEqual([])
    expect(reports[0]?.leftOut).toEqual([
      { reason: 'HKQuantityTypeIdentifierDietaryWater', records: 2 },
      { reason: 'ActivitySummary', records: 1 },
    ])
  })
})

describe('a broken file', () => {
  const beat = quantity('HeartRate', 'count/min', '60')

  test('with a document type that is none, control characters and an entity of no meaning is read', async () => {
    const broken = `<?xml version="1.0"?><!DOCTYPE HealthData [ <!ELEMENT HealthData (a|b> <!ATTLIST x "y ]>\n<HealthData>\u000b${beat.replace('"Watch"', '"Wa\u0007tch &nope;"')}</HealthData>`
    const { logs, reports } = await importOne(fileOf('export.xml', broken))

    expect(logs).toHaveLength(1)
    expect(reports[0]?.rejected).toEqual([])
  })

  test('that ends in the middle gives what it has, and says so', async () => {
    const { logs, reports } = await importOne(fileOf('export.xml', `${head}${beat}\n<Record type="HK`))

    expect(logs).toHaveLength(1)
    expect(reports[0]?.rejected).toEqual([{ reason: 'read export.xml: it ends in the middle', records: 1 }])
  })

  test.each([
    [
      'declared entities',
      `<!DOCTYPE HealthData [<!ENTITY a "b"><!ENTITY c "&a;&a;">]><HealthData>${beat}`,
      /declares entities/,
    ],
    ['deep nesting', `${head}${'<a>'.repeat(40)}`, /nested deeper/],
    ['a tag without an end', `${head}<Record type="${'x'.repeat(2_000_000)}`, /no end within 1 MiB/],
  ])('of %s is refused', async (_what, text, reason) => {
    const { logs, reports } = await importOne(fileOf('export.xml', text))

    expect(logs).toEqual([])
    expect(reports[0]?.rejected[0]?.reason).toMatch(reason)
  })
})

test('a heart rate may be averaged by minute and device; a value that cannot be is left out before', async () => {
  const beats = ['09:00:05 60', '09:00:55 70', '09:01:00 80', '09:00:30 240'].map((text) => {
    const [time, value = ''] = text.split(' ')
    return quantity('HeartRate', 'count/min', value === '240' ? '251' : value, { at: `2026-03-02 ${time} +0200` })
  })
  const { logs, reports } = await importOne(exportOf(...beats), { heartRate: '1m' })

  expect(
    logs.map(({ value, aggregation, startDateTime, endDateTime }) => [value, aggregation, startDateTime, endDateTime]),
  ).toEqual([
    [65, 'avg', '2026-03-02T09:00:00+02:00', '2026-03-02T09:01:00+02:00'],
    [80, 'avg', '2026-03-02T09:01:00+02:00', '2026-03-02T09:02:00+02:00'],
  ])
  expect(reports[0]).toMatchObject({ read: 4, mapped: 3, logs: 2 })
})

test('an entry by hand is marked as typed', async () => {
  const inner = '<MetadataEntry key="HKWasUserEntered" value="1"/>'
  const { logs } = await importOne(
    exportOf(quantity('BodyMass', 'kg', '70', { inner }), quantity('Height', 'cm', '180')),
  )

  expect(logs.map(({ recordingMethod }) => recordingMethod)).toEqual(['manual_entry', 'automatically_recorded'])
})

test('mutations of a file crash nothing, hang nothing, and each gives a report', {
  timeout: 300_000,
}, async () => {
  const seed = Buffer.from(
    `${head}${quantity('HeartRate', 'count/min', '60')}${sleep('AsleepREM', at9, '2026-03-02 10:00:00 +0200')}</HealthData>`,
  )
  let random = 42
  const next = (below: number) => {
    random = (random * 1_103_515_245 + 12_345) % 2_147_483_648
    return random % below
  }
  for (let round = 0; round < Number(process.env['FUZZ_ROUNDS'] ?? 500); round += 1) {
    const bytes = Buffer.from(seed)
    for (let change = 0; change <= next(6); change += 1) bytes[next(bytes.length)] = next(256)
    const { reports, unread, logs } = await importOne(fileOf('export.xml', bytes.subarray(0, bytes.length - next(40))))

    expect(reports.length + unread.length).toBe(1)
    for (const log of logs) dataLogInputSchema.parse(log)
  }
})
