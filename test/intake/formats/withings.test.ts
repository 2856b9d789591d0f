import { describe, expect, test } from 'vitest'
import { withings } from '../../../src/intake/formats/withings.ts'
import { exportWriters } from '../../../src/service/sandbox/exports/export-writers.ts'
import { logsOf, samplePeople } from '../../../src/service/sandbox/people/sample-people.ts'
import { entriesOf, fileOf, importInto, importOne } from '../../support/health-files.ts'

const options = { timeZone: 'Europe/Paris', formats: [withings] }

test('measurements are in the unit that the column names, by the clock on the wall', async () => {
  const file = fileOf(
    'weight.csv',
    'Date,"Weight (lb)","Fat mass (lb)","Bone mass (lb)","Muscle mass (lb)","Hydration (lb)",Comments\n"2026-07-01 08:15:00",160,30,,,"95.5",\n',
  )
  const { logs, rejects } = await importOne(file, options)

  expect(rejects).toEqual([])
  expect(logs.map(({ dataType, value, startDateTime }) => [dataType, value, startDateTime])).toEqual([
    ['weight', 72.5748, '2026-07-01T08:15:00+02:00'],
    ['body_water_mass', 43.3181, '2026-07-01T08:15:00+02:00'],
  ])
})

test('a pulse without a pressure is no pressure of 0', async () => {
  const file = fileOf('bp.csv', 'Date,"Heart rate",Systolic,Diastolic,Comments\n"2026-07-01 08:15:00",61,,,\n')
  const { logs } = await importOne(file, options)

  expect(logs.map(({ dataType, value }) => [dataType, value])).toEqual([['heart_rate', 61]])
})

test('raw files are read slice by slice; the days’ sums and the sums of a night beside them are not added', async () => {
  const steps = fileOf(
    'raw_tracker_steps.csv',
    'start,duration,value\n2026-07-01T08:00:00+02:00,"[60,120,60]","[90,0,80]"\n',
  )
  const states = fileOf(
    'raw_tracker_sleep-state.csv',
    'start,duration,value\n2026-07-01T00:00:00+02:00,"[600,3000,1800]","[0,1,2]"\n',
  )
  const night = fileOf(
    'sleep.csv',
    'from,to,"light (s)","deep (s)","rem (s)","awake (s)","wake up"\n2026-07-01T00:00:00+02:00,2026-07-01T01:30:00+02:00,3000,1800,0,600,1\n',
  )
  const sums = fileOf('aggregates_steps.csv', 'date,value\n2026-07-01,170\n')
  const { logs, unread, reports } = await importInto(new Map(), [steps, states, night, sums], options)

  expect(logs.map(({ dataType, value, startDateTime }) => [dataType, value, startDateTime.slice(11, 16)])).toEqual([
    ['steps', 90, '08:00'],
    ['steps', 80, '08:03'],
    ['sleep_stage_awake', 10, '00:00'],
    ['sleep_stage_light', 50, '00:10'],
    ['sleep_stage_deep', 30, '01:00'],
    ['sleep_stage_in_bed', 90, '00:00'],
  ])
  expect(unread).toMatchObject([{ files: 1, isLeftOut: true }])
  expect(reports[0]?.leftOut).toEqual([{ reason: 'a slice with nothing in it', records: 1 }])
})

test('a night of no sleep is left out, and a height is one that the person entered', async () => {
  const night = fileOf(
    'sleep.csv',
    'from,to,"light (s)","deep (s)","rem (s)","awake (s)","wake up"\n2026-07-01T00:00:00+02:00,2026-07-01T07:12:00+02:00,0,0,,25920,0\n',
  )
  const height = fileOf('height.csv', 'Date,"Height (m)",Comments\n"2026-07-01 08:15:00",1.7,\n')
  const { logs, reports } = await importInto(new Map(), [night, height], options)

  expect(logs.map(({ dataType, recordingMethod }) => [dataType, recordingMethod])).toEqual([['height', 'manual_entry']])
  expect(reports.flatMap(({ leftOut }) => leftOut)).toEqual([
    { reason: 'a window of sleep in which no sleep was measured', records: 1 },
  ])
})

describe('in other languages', () => {
  const night = '2026-07-01T00:00:00+02:00,2026-07-01T01:30:00+02:00,3000,1800,0,600,1'
  const walk = '2026-07-01T08:00:00+02:00,2026-07-01T09:00:00+02:00,,,Europe/Berlin'

  test.each([
    [
      'weight.csv',
      'Date,"Gewicht (kg)","Fettmasse (kg)","Knochenmasse (kg)","Muskelmasse (kg)","Wasseranteil (kg)",Kommentare',
      '"2026-07-01 08:15:00",72.5,18,"3,1",,"41,25",',
      'weight 72.5 bone_mass 3.1 body_water_mass 41.25',
    ],
    [
      'weight.csv',
      '"Date","Gewicht (kg)","Fettmasse (kg)","Fettfreier Anteil (kg)","Kommentare"',
      '"2014-02-13 6:04 Uhr","94.34","26.81","68.43",""',
      'weight 94.34',
    ],
    [
      'weight.csv',
      'Date,"Poids (lb)","Masse grasse (lb)","Masse osseuse (lb)","Masse musculaire (lb)","Hydratation (lb)",Commentaires',
      '"2026-07-01 08:15:00",160,,,,,',
      'weight 72.5748',
    ],
    ['height.csv', 'Datum,"Grösse (m)",Kommentare', '"2026-07-01 08:15:00",1.81,', 'height 1.81'],
    [
      'bp.csv',
      'Date,Herzfrequenz,Systole,Diastole,Kommentare',
      '"2026-07-01 08:15:00",61,121,79,',
      'blood_pressure_systolic 121 blood_pressure_diastolic 79 heart_rate 61',
    ],
    ['sleep.csv', 'von,bis,"leicht (s)","tief (s)","rem (s)","wach (s)",Aufwachen', night, 'sleep_stage_in_bed 90'],
    [
      'sleep.csv',
      'de,a,"ligero (s)","profundo (s)","rem (s)","despierto (s)",despertar',
      night,
      'sleep_stage_in_bed 90',
    ],
    ['sleep_1.csv', 'から,まで,"浅い (s)","深い (s)","rem (s)","目覚める (s)",目覚め', night, 'sleep_stage_in_bed 90'],
    [
      'activities.csv',
      'von,bis,"von (manuell)","bis (manuell)",Zeitzone,Aktivität,Daten',
      `${walk},Gehen,{}`,
      'exercise_session_walking 60',
    ],
    ['activities.csv', 'から,まで,a,b,c,d,e', `${walk},ウォーキング,{}`, 'exercise_session_other 60'],
    ['raw_tracker_steps.csv', 'début,durée,valeur', '2026-07-01T08:00:00+02:00,"[60]","[90]"', 'steps 90'],
  ])('%s with the columns %s is read by its name and its shape', async (name, columns, row, read) => {
    const { logs, rejects, unread } = await importOne(fileOf(`data/${name}`, `\ufeff${columns}\n${row}\n`), options)

    expect([rejects, unread]).toEqual([[], []])
    expect(logs.map(({ dataType, value }) => `${dataType} ${value}`).join(' ')).toBe(read)
  })

  test('an export of the writer with German columns gives the logs of the English one', async () => {
    const german: Readonly<Record<string, string>> = {
      'weight.csv':
        'Date,"Gewicht (kg)","Fettmasse (kg)","Knochenmasse (kg)","Muskelmasse (kg)","Wasseranteil (kg)",Kommentare',
      'sleep.csv': 'von,bis,"leicht (s)","tief (s)","rem (s)","wach (s)",Aufwachen',
      'activities.csv': 'von,bis,"von (manuell)","bis (manuell)",Zeitzone,"Art der Aktivität",Daten',
    }
    const endMs = Date.parse('2026-03-15T12:00:00Z')
    const person = samplePeople('german', 6).find(({ kind }) => kind === 'office-worker')
    const written = await exportWriters['withings']?.(
      person ? logsOf(person, { startMs: endMs - 7 * 86_400_000, endMs }) : [],
      60,
    )
    const entries = entriesOf(written?.data ?? Buffer.alloc(4))
    const english = entries.map(({ name, data }) => fileOf(name, data))
    const translated = entries.map(({ name, data }) =>
      fileOf(
        name,
        String(data).replace(/^.*/, (columns) => german[name] ?? columns),
      ),
    )
    const [first, second] = [
      await importInto(new Map(), english, options),
      await importInto(new Map(), translated, options),
    ]

    expect(first.logs.map(({ dataType }) => dataType)).toEqual(expect.arrayContaining(['weight', 'sleep_stage_in_bed']))
    expect(second.logs).toEqual(first.logs)
    expect(second.unread).toEqual(first.unread)
  })

  test('a file of another shape is not guessed at, whatever its name', async () => {
    const files = [
      fileOf('weight.csv', 'Datum,Gewicht,Notiz\n2026-07-01 08:15:00,72.5,\n'),
      fileOf('bp.csv', 'Datum,Diastole,Systole,Puls\n"2026-07-01 08:15:00",79,61,121\n'),
      fileOf('sleep.csv', 'Nacht,Stunden\n2026-07-01,7\n'),
    ]
    const { logs, unread } = await importInto(new Map(), files, options)

    expect(logs).toEqual([])
    expect(unread.map(({ file, isLeftOut }) => [file, isLeftOut])).toEqual([
      ['weight.csv', false],
      ['bp.csv', false],
      ['sleep.csv', false],
    ])
  })
})

test('an activity that the person entered counts by the times that were entered, and is marked', async () => {
  const file = fileOf(
    'activities.csv',
    `from,to,"from (manual)","to (manual)",Timezone,"Activity type",Data
2026-07-01T08:00:00+02:00,2026-07-01T09:00:00+02:00,,,Europe/Paris,Running,{}
2026-07-02T08:00:00+02:00,2026-07-02T09:00:00+02:00,2026-07-02T08:00:00+02:00,2026-07-02T08:30:00+02:00,Europe/Paris,Running,{}
`,
  )
  const { logs } = await importOne(file, options)

  expect(logs.map(({ value, recordingMethod }) => [value, recordingMethod])).toEqual([
    [60, 'actively_recorded'],
    [30, 'manual_entry'],
  ])
})

test('a row whose lists do not fit one another costs only itself', async () => {
  const file = fileOf(
    'raw_hr_hr.csv',
    'start,duration,value\n2026-07-01T08:00:00+02:00,"[60,60]","[61]"\n2026-07-01T09:00:00+02:00,"[60]","[62]"\n2026-07-01T10:00:00+02:00,"[60]","[300]"\n',
  )
  const { logs, rejects } = await importOne(file, options)

  expect(logs.map(({ value }) => value)).toEqual([62])
  expect(rejects.map(({ place, reason }) => [place, reason])).toEqual([
    ['record 1', 'a row whose start, durations or values do not fit'],
    ['record 3', 'heart_rate lies outside 25 to 250'],
  ])
})
