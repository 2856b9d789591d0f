import type { MappingRow } from '../export-format.ts'

const googleTable = (names: string) => new RegExp(`(^|/)(${names})(_[^/]*)?\\.csv$`)

/** Tables and folders of Takeout that are left out on purpose. */
export const takeoutLeftOut: readonly MappingRow[] = [
  {
    from: 'live_pace_DATE.csv',
    note: 'the steps of a workout by the second: steps_DATE.csv has them',
    files: googleTable('live_pace'),
  },
  {
    from: 'calories, active_energy_burned, calories_in_heart_rate_zone',
    note: 'estimates, which go on while it is not worn',
    files: googleTable('calories|active_energy_burned|calories_in_heart_rate_zone'),
  },
  {
    from: 'activity_level, sedentary_period, time_in_heart_rate_zone, daily means of heart rate variability and saturation',
    note: 'made of the heart rates, steps and nights that are read',
    files: googleTable(
      'activity_level|sedentary_period|time_in_heart_rate_zone|daily_heart_rate_zones|daily_heart_rate_variability|daily_oxygen_saturation|cardio_load\\w*|cardio_acute_chronic_workload_ratio|daily_readiness',
    ),
  },
  {
    from: 'respiratory_rate_sleep_summary_DATE.csv',
    note: 'its column says thousandths of breaths, some files hold breaths; daily_respiratory_rate.csv has the night',
    files: googleTable('respiratory_rate_sleep_summary'),
  },
  {
    from: 'body_temperature_DATE.csv, Temperature',
    note: 'of the skin, or a difference to the person’s own',
    files: /(^|\/)body_temperature_[^/]*\.csv$|(^|\/)Temperature\/[^/]*\.csv$/,
  },
  {
    from: 'distance, altitude, places, food, water, notifications',
    note: 'nothing is derived from them',
    files: googleTable(
      'distance|altitude|speed|gps_location|coarse_physical_location|weather_forecast|nutrition_log|hydration_log|heart_rate_notification|mindfulness_session|micro_motion|micro_stillness|swim_lengths_data|menstrual_health\\w*',
    ),
  },
  {
    from: 'the older summaries and JSON of the same figures',
    note: 'the tables above have them',
    files:
      /(^|\/)(Daily Heart Rate Variability Summary|Heart Rate Variability Histogram|Respiratory Rate Summary|Daily SpO2|Active Zone Minutes) - [^/]*\.csv$|(^|\/)(distance|altitude|height|time_in_heart_rate_zones|demographic_vo2_max|run_vo2_max|estimated_oxygen_variation|swim_lengths_data|badge|water_logs|food_logs)-[^/]*\.(json|csv)$/,
  },
  {
    from: 'scores, plans, settings, social, accounts, devices',
    note: 'no measurements',
    files:
      /(^|\/)((Account Changes|Biometrics|Paired Devices|Your Profile|User Profile_GoogleData|User Security Data|Commerce_GoogleData|[^/]*Notifications?[^/]*_GoogleData|Fitbit Premium|Discover|Guided Programs|Social(_GoogleData)?|Menstrual Health|Stress Score|Stress Journal|Sleep Score|Daily Readiness|Snore and Noise Detect|Atrial Fibrillation \w+|Mindfulness)\/.*|Health Fitness Data_GoogleData\/(?!UserSleeps_|UserSleepStages_|UserExercises_)[^/]*)\.(csv|json)$/,
  },
]
