import type { FaultName } from './fault-catalogue.ts'
import type { ServedRecord } from './faulty-records.ts'

type ChangeRecords = (records: readonly ServedRecord[]) => readonly ServedRecord[]

/** Applies a function to every value within a record, however deep. */
function mapValues(record: ServedRecord, change: (value: unknown, name: string) => unknown): ServedRecord {
  const changed = (value: unknown, name: string): unknown => {
    if (Array.isArray(value)) return value.map((part) => changed(part, name))
    if (typeof value === 'object' && value !== null) return mapValues(value as ServedRecord, change)
    return change(value, name)
  }
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, changed(value, name)]))
}

const each =
  (change: (record: ServedRecord) => ServedRecord): ChangeRecords =>
  (records) =>
    records.map(change)

const withNewField = (record: ServedRecord): ServedRecord => ({ ...record, confidence: 0.87 })

const withoutId = ({ id: _, ...rest }: ServedRecord): ServedRecord => rest

/** Beside records of these types comes one of a further type. */
const accompanied: readonly unknown[] = ['sleep', 'steps', 'activity_level']

/** The id of the record of a new type: the id beside which it comes, with another beginning. */
const neighbourId = (id: unknown) => (typeof id === 'string' ? `0dd00000${id.slice(8)}` : id)

const addNewType: ChangeRecords = (records) =>
  records.flatMap((record) => {
    const kind = 'name' in record ? 'name' : 'type'
    if (!accompanied.includes(record[kind])) return [record]
    return [record, { ...record, id: neighbourId(record['id']), [kind]: 'recovery' }]
  })

function withRenamedField(record: ServedRecord): ServedRecord {
  const renamed = 'value' in record ? 'value' : 'state'
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name === renamed ? 'reading' : name, value]))
}

/** By unit: the unit that comes in its place, and how many of it make one. */
const otherUnits: Readonly<Record<string, readonly [unit: string, factor: number]>> = {
  minute: ['hour', 1 / 60],
  hour: ['minute', 60],
  kcal: ['kJ', 4.184],
  kg: ['lb', 2.204_62],
  m: ['cm', 100],
  ms: ['s', 0.001],
  bpm: ['Hz', 1 / 60],
  count: ['thousand', 0.001],
}

function withOtherUnit(record: ServedRecord): ServedRecord {
  const { factors, data, value, unit } = record
  const factorsToo = Array.isArray(factors) ? { ...record, factors: factors.map(withOtherUnit) } : record
  const [otherUnit, factor] = otherUnits[String(unit)] ?? []
  if (otherUnit === undefined || factor === undefined) return factorsToo
  const scaled = (amount: unknown) => {
    const number = Math.round(Number(amount) * factor * 1e6) / 1e6
    return typeof amount === 'string' ? String(number) : number
  }
  const parts = Array.isArray(data) ? { data: data.map((part) => ({ ...part, value: scaled(part.value) })) } : {}
  return { ...factorsToo, unit: otherUnit, ...(value === undefined ? {} : { value: scaled(value) }), ...parts }
}

const numberAsText = (value: unknown) => (typeof value === 'number' ? String(value) : value)

const closedWords: readonly string[] = ['state', 'category', 'periodicity', 'aggregation', 'valueType', 'dataType']

const wordInCapitals = (value: unknown, name: string) =>
  typeof value === 'string' && closedWords.includes(name) ? value.toUpperCase() : value

/** The fields that a record of the kind may lack. */
function optionalFieldsOf(record: ServedRecord): readonly string[] {
  if ('valueType' in record) return ['estimated']
  if ('trendStartDateTime' in record) return ['valueRange', 'method']
  if ('source' in record) return ['category', 'value', 'endDateTime', 'additionalProperties']
  return []
}

function withNulls(record: ServedRecord): ServedRecord {
  const nulls = optionalFieldsOf(record).map((name) => [name, null] as const)
  return { ...Object.fromEntries(nulls), ...record }
}

const instantPattern = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)$/

const cutToSecond = (value: unknown) => (typeof value === 'string' ? value.replace(instantPattern, '$1$2') : value)

function otherPrecision(value: unknown): unknown {
  if (typeof value === 'number') return Math.round(value * 10) / 10
  return typeof value === 'string' ? value.replace(instantPattern, '$1.0000000$2') : value
}

/** By fault: what it changes in all records of an answer. In the order in which several are applied. */
const changes = {
  'without-ids': each(withoutId),
  'whole-seconds': each((record) => mapValues(record, cutToSecond)),
  'drift-new-type': addNewType,
  'drift-new-field': each(withNewField),
  'drift-unit': each(withOtherUnit),
  'drift-precision': each((record) => mapValues(record, otherPrecision)),
  'drift-enum-case': each((record) => mapValues(record, wordInCapitals)),
  'drift-null': each(withNulls),
  'drift-renamed-field': each(withRenamedField),
  'drift-number-as-text': each((record) => mapValues(record, numberAsText)),
  'drift-order': (records) => records.toReversed(),
} as const satisfies Partial<Record<FaultName, ChangeRecords>>

const changeNames = Object.keys(changes) as Array<keyof typeof changes> // the keys of a literal are its names

/** The records as an upstream writes them that has changed, or that says less than ours. */
export function changeRecords(
  records: readonly ServedRecord[],
  isOn: (name: FaultName) => boolean,
): readonly ServedRecord[] {
  return changeNames.filter(isOn).reduce((changed, name) => changes[name](changed), records)
}
