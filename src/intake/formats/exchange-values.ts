import { HOUR } from '../../base/time/units.ts'
import type { HealthRecord, RecordPlace } from './export-format.ts'
import type { MeasureName } from './measures.ts'
import { type DraftFrame, fieldsIn, measuredRecord, numberIn, textIn } from './source-values.ts'

/** Units as the formats for exchange write them (UCUM and Open mHealth), and as our conversions know them. */
const unitNames: Readonly<Record<string, string>> = {
  '%': 'percent',
  C: 'degC',
  F: 'degF',
  Cel: 'degC',
  '[degF]': 'degF',
  'mm[Hg]': 'mmHg',
  '/min': 'count/min',
  '{beats}/min': 'count/min',
  '{breaths}/min': 'count/min',
  '[lb_av]': 'lb',
  '[oz_av]': 'oz',
  '[in_i]': 'in',
  '[ft_i]': 'ft',
  '{steps}': 'count',
  '{#}': 'count',
  '1': 'count',
  steps: 'count',
  'mL/min/kg': 'mL/kg/min',
}

const unitOf = (text: string): string => (Object.hasOwn(unitNames, text) ? (unitNames[text] ?? text) : text)

/** A record of `{"value": 72, "unit": "kg"}`, or of a bare number, which has no unit but counts. FHIR has a `code` for the unit. */
export function quantityRecord(
  place: RecordPlace,
  { to, quantity }: { readonly to: MeasureName; readonly quantity: unknown },
  frame: DraftFrame,
): HealthRecord {
  const { value, code, unit } = typeof quantity === 'number' ? { value: quantity, unit: 'count' } : fieldsIn(quantity)
  const number = numberIn(value)
  if (Number.isNaN(number)) return { place, fault: 'a measurement without a number', text: '{}' }
  return measuredRecord(place, { to, unit: unitOf(textIn(code) || textIn(unit)), value: number }, frame)
}

const DAILY_MS = 22.9 * HOUR

/** A sum or a mean over a day ranks below the parts of the day, which may stand beside it. */
export const asDaily = (frame: DraftFrame, aggregation: 'sum' | 'avg'): DraftFrame =>
  frame.end.atMs - frame.start.atMs >= DAILY_MS ? { ...frame, periodicity: 'daily', aggregation } : frame
