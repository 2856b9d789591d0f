/** How a value of a source's unit becomes one of ours: times `scale`, plus `shift`. */
type Conversion = { readonly scale: number; readonly shift: number }

const KILOJOULES_PER_KILOCALORIE = 4.184
const POUND_KG = 0.453_592_37
const INCH_M = 0.0254
const MILE_M = 1609.344
/** The same figure as the derivation's: milligrams a decilitre of glucose in one millimole a litre. */
const GLUCOSE_MG_DL_PER_MMOL_L = 18.016

/** By our unit: the scale of each unit that exports write. A pair is scale and shift. */
const scales: Readonly<Record<string, Readonly<Record<string, number | readonly [number, number]>>>> = {
  count: { count: 1, 'kg/m²': 1, 'kg/m^2': 1, 'kg/m2': 1 },
  bpm: { bpm: 1, 'count/min': 1, 'count/s': 60, 'beats/min': 1 },
  'breath/min': { 'breath/min': 1, 'breaths/min': 1, 'count/min': 1, 'count/s': 60 },
  minute: { minute: 1, min: 1, s: 1 / 60, ms: 1 / 60_000, hr: 60, h: 60 },
  ms: { ms: 1, s: 1000 },
  kcal: {
    kcal: 1,
    Cal: 1,
    kJ: 1 / KILOJOULES_PER_KILOCALORIE,
    cal: 1 / 1000,
    J: 1 / KILOJOULES_PER_KILOCALORIE / 1000,
  },
  'kcal/day': { 'kcal/day': 1, 'kcal/d': 1, W: 86.4 / KILOJOULES_PER_KILOCALORIE },
  kg: { kg: 1, g: 1 / 1000, lb: POUND_KG, st: 14 * POUND_KG, oz: POUND_KG / 16 },
  m: { m: 1, cm: 1 / 100, mm: 1 / 1000, km: 1000, in: INCH_M, ft: 12 * INCH_M, yd: 36 * INCH_M, mi: MILE_M },
  'm/s': { 'm/s': 1, 'km/hr': 1 / 3.6, 'km/h': 1 / 3.6, 'mi/hr': MILE_M / 3600, mph: MILE_M / 3600 },
  percent: { percent: 1, fraction: 100 },
  degC: { degC: 1, degF: [5 / 9, -160 / 9], K: [1, -273.15] },
  mmHg: { mmHg: 1, kPa: 7.500_616_827 },
  'mmol/L': {
    'mmol/L': 1,
    'mmol<180.1558800000541>/L': 1,
    'mmol<180.15588000005408>/L': 1,
    'mg/dL': 1 / GLUCOSE_MG_DL_PER_MMOL_L,
  },
  'mL/kg/min': { 'mL/kg/min': 1, 'mL/min·kg': 1, 'mL/(min·kg)': 1, 'ml/(kg*min)': 1 },
  watt: { watt: 1, W: 1, kW: 1000 },
}

const conversions: ReadonlyMap<string, ReadonlyMap<string, Conversion>> = new Map(
  Object.entries(scales).map(([unit, known]) => [
    unit,
    new Map(
      Object.entries(known).map(([sourceUnit, found]) => {
        const [scale, shift] = typeof found === 'number' ? [found, 0] : found
        return [sourceUnit, { scale, shift }]
      }),
    ),
  ]),
)

/** Undefined for a unit that is not known for ours: a value of it must not be taken for one of ours. */
export const conversionTo = (unit: string, sourceUnit: string): Conversion | undefined =>
  conversions.get(unit)?.get(sourceUnit)

/** The units that a source may write for ours, for the tables of the docs. */
export const unitsTakenFor = (unit: string): readonly string[] => Object.keys(scales[unit] ?? {})
