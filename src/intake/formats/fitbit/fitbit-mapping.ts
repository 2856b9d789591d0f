import type { MappingRow } from '../export-format.ts'
import { fitbitLevels } from './fitbit-sleep.ts'

export const fitbitMapping: readonly MappingRow[] = [
  {
    from: 'steps-DATE.json',
    to: 'steps',
    units: 'count a minute, UTC',
    note: 'minutes of 0 are left out: minutes in which it was not worn have them too',
  },
  { from: 'heart_rate-DATE.json', to: 'heart_rate', units: 'bpm, UTC', note: 'confidence 0 is left out' },
  {
    from: 'resting_heart_rate-DATE.json',
    to: 'resting_heart_rate',
    units: 'bpm of a local day',
    note: 'a day of 0 has none',
  },
  { from: 'sleep-DATE.json, the night', to: 'sleep_stage_in_bed', units: 'from start to end, local' },
  ...Object.entries(fitbitLevels).map(([level, to]) => ({
    from: `sleep-DATE.json, level ${level}`,
    to,
    units: 'seconds, local',
    note: level === 'wake' ? 'short wakes cut the level around them' : '',
  })),
  { from: 'Heart Rate Variability Details CSV', to: 'heart_rate_variability_rmssd', units: 'ms, local' },
  { from: 'Minute SpO2 CSV', to: 'oxygen_saturation', units: 'percent, UTC', note: '50 stands for not measured' },
  {
    from: 'steps_DATE.csv (newer)',
    to: 'steps',
    units: 'count a minute, UTC',
    note: 'the same minute in JSON is the same log',
  },
  { from: 'heart_rate_DATE.csv (newer)', to: 'heart_rate', units: 'bpm, UTC' },
  { from: 'Daily Heart Rate Variability Summary', note: 'means of the details' },
  {
    from: 'sedentary, lightly, moderately and very active minutes',
    note: 'days’ sums; 1,440 sedentary minutes mean not worn',
  },
  { from: 'calories-DATE.json', note: 'an estimate goes on while it is not worn' },
  { from: 'weight-N.json', note: 'its unit, pounds or kilograms, is not written' },
  { from: 'exercise-N.json', note: 'the zone of its times is not documented' },
]
