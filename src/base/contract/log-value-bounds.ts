type Bounds = readonly [low: number, high: number]

/**
 * Values beyond these bounds are no measurement of a person in any unit that is in use (grams, millimetres, kelvins), and
 * sums of them could leave the range of numbers. The bounds are wide: the derivation decides which values a body can have.
 */
const valueBounds: Readonly<Record<string, Bounds>> = {
  steps: [0, 1_000_000],
  floors_climbed: [0, 100_000],
  active_energy_burned: [0, 1_000_000],
  basal_energy_burned: [0, 1_000_000],
  total_energy_burned: [0, 1_000_000],
  basal_metabolic_rate: [0, 1_000_000],
  heart_rate: [0, 1000],
  resting_heart_rate: [0, 1000],
  heart_rate_variability_sdnn: [0, 10_000],
  heart_rate_variability_rmssd: [0, 10_000],
  respiratory_rate: [0, 1000],
  oxygen_saturation: [0, 100],
  blood_glucose: [0, 10_000],
  blood_pressure_systolic: [0, 1000],
  blood_pressure_diastolic: [0, 1000],
  basal_body_temperature: [-100, 1000],
  sleeping_wrist_temperature: [-100, 1000],
  vo2_max: [0, 1000],
  weight: [0, 1_000_000],
  lean_body_mass: [0, 1_000_000],
  height: [0, 10_000],
  waist_circumference: [0, 10_000],
  body_fat: [0, 100],
  body_mass_index: [0, 10_000],
}

const boundsOfOthers: Bounds = [-1_000_000_000, 1_000_000_000]

export function isValueOf(dataType: string, value: number): boolean {
  const [low, high] = valueBoundsOf(dataType)
  return value >= low && value <= high
}

/** The least and the greatest value of a data type. */
export function valueBoundsOf(dataType: string): Bounds {
  return Object.hasOwn(valueBounds, dataType) ? (valueBounds[dataType] ?? boundsOfOthers) : boundsOfOthers
}
