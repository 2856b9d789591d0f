import { HOUR } from '../../base/time/units.ts'
import type { HealthRecord } from './export-format.ts'
import type { MeasureName } from './measures.ts'
import { type DraftFrame, faultOf, fieldsIn, measuredRecord, numberIn, textIn } from './source-values.ts'

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
  'mL/kg/min': 'mL/kg/min',
  kcal: 'kcal',
}

const unitOf = (text: string): string => (Object.hasOwn(unitNames, text) ? (unitNames[text] ?? text) : text)

type Quantity = { readonly to: MeasureName; readonly quantity: unknown; readonly unitField: 'unit' | 'code' }

/** A record of `{"value": 72, "unit": "kg"}`, or of a bare number, which has no unit but counts. */
export function quantityRecord(
  place: string,
  { to, quantity, unitField }: Quantity,
  frame: DraftFrame,
): HealthRecord[] {
  const fields = typeof quantity === 'number' ? { value: quantity, [unitField]: 'count' } : fieldsIn(quantity)
  const value = numberIn(fields['value'])
  const unit = textIn(fields[unitField]) || textIn(fields['unit'])
  if (Number.isNaN(value)) return faultOf(place, 'a measurement without a number', {})
  return [measuredRecord(place, { to, unit: unitOf(unit), value }, frame)]
}

const DAILY_MS = 22.9 * HOUR

/** A sum or a mean over a day ranks below the parts of the day, which may stand beside it. */
export const asDaily = (frame: DraftFrame, aggregation: 'sum' | 'avg'): DraftFrame =>
  frame.end.atMs - frame.start.atMs >= DAILY_MS ? { ...frame, periodicity: 'daily', aggregation } : frame
