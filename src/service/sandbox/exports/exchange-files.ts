import { offsetText, ofType, type TimedLog, type ZipPart } from './timed-logs.ts'

/** The versions of the schemas that Open mHealth published last. */
const versions: Readonly<Record<string, string>> = {
  'body-fat-percentage': '1.0',
  'body-weight': '3.0',
  'heart-rate': '2.0',
  'oxygen-saturation': '2.0',
  'physical-activity': '1.2',
  'respiratory-rate': '2.0',
  'sleep-episode': '1.1',
  'step-count': '3.0',
}

/** The schema of a measure, the field of its body, the unit, and what a value of ours is multiplied by. */
const schemas: Readonly<Record<string, readonly [schema: string, field: string, unit: string, scale: number]>> = {
  steps: ['step-count', 'step_count', 'steps', 1],
  heart_rate: ['heart-rate', 'heart_rate', 'beats/min', 1],
  weight: ['body-weight', 'body_weight', 'kg', 1],
  body_fat: ['body-fat-percentage', 'body_fat_percentage', '%', 1],
  oxygen_saturation: ['oxygen-saturation', 'oxygen_saturation', '%', 100],
  respiratory_rate: ['respiratory-rate', 'respiratory_rate', 'breaths/min', 1],
}

/** LOINC, UCUM, and what a value of ours is multiplied by. */
const codes: Readonly<Record<string, readonly [code: string, unit: string, scale: number]>> = {
  steps: ['55423-8', '1', 1],
  heart_rate: ['8867-4', '/min', 1],
  resting_heart_rate: ['40443-4', '/min', 1],
  heart_rate_variability_sdnn: ['80404-7', 'ms', 1],
  weight: ['29463-7', 'kg', 1],
  body_fat: ['41982-0', '%', 1],
  oxygen_saturation: ['59408-5', '%', 100],
  respiratory_rate: ['9279-1', '/min', 1],
}

const scaled = (value: number, scale: number) => Number((value * scale).toFixed(4))

/** The logs of a watch and a scale as data points of Open mHealth, one a line. */
export function openMhealthFiles(timed: readonly TimedLog[]): ZipPart[] {
  const points = timed.flatMap((sample) => {
    const { dataType, value } = sample.log
    const [schema, field, unit, scale] = schemas[dataType] ?? []
    const frame = { effective_time_frame: omhFrame(sample) }
    if (schema !== undefined && field !== undefined && unit !== undefined && scale !== undefined)
      return [pointOf(sample, schema, { [field]: { value: scaled(value, scale), unit }, ...frame })]
    if (dataType === 'sleep_stage_in_bed') return [pointOf(sample, 'sleep-episode', frame)]
    if (!dataType.startsWith('exercise_session_')) return []
    return [
      pointOf(sample, 'physical-activity', { activity_name: dataType.replace('exercise_session_', ''), ...frame }),
    ]
  })
  return linesOf('open-mhealth', points)
}

const omhFrame = (sample: TimedLog) =>
  sample.startMs === sample.endMs
    ? { date_time: offsetText(sample.startMs, sample) }
    : {
        time_interval: {
          start_date_time: offsetText(sample.startMs, sample),
          end_date_time: offsetText(sample.endMs, sample),
        },
      }

const pointOf = ({ log }: TimedLog, name: string, body: object) => ({
  header: {
    id: log.id,
    creation_date_time: log.endDateTime,
    schema_id: { namespace: 'omh', name, version: versions[name] },
    acquisition_provenance: { source_name: log.source, modality: 'sensed' },
  },
  body,
})

/** The logs of a watch and a scale as observations of FHIR, one a line. */
export function fhirFiles(timed: readonly TimedLog[]): ZipPart[] {
  const observations = Object.entries(codes).flatMap(([dataType, [code, unit, scale]]) =>
    ofType(timed, dataType).map((sample) => ({
      resourceType: 'Observation',
      id: sample.log.id,
      status: 'final',
      code: { coding: [{ system: 'http://loinc.org', code }] },
      subject: { reference: 'Patient/sample' },
      device: { display: sample.log.source },
      ...fhirTime(sample),
      valueQuantity: { value: scaled(sample.log.value, scale), unit, system: 'http://unitsofmeasure.org', code: unit },
    })),
  )
  return linesOf('fhir', observations)
}

const fhirTime = (sample: TimedLog) =>
  sample.startMs === sample.endMs
    ? { effectiveDateTime: offsetText(sample.startMs, sample) }
    : { effectivePeriod: { start: offsetText(sample.startMs, sample), end: offsetText(sample.endMs, sample) } }

const linesOf = (name: string, objects: readonly object[]): ZipPart[] => [
  { name: `${name}.ndjson`, data: Buffer.from(`${objects.map((object) => JSON.stringify(object)).join('\n')}\n`) },
]
