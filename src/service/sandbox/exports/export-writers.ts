import type { SampleLog } from '../people/sample-logs.ts'
import { appleHealthFiles } from './apple-health-file.ts'
import { fhirFiles, openMhealthFiles } from './exchange-files.ts'
import { fitabaseFiles } from './fitabase-files.ts'
import { fitbitFiles } from './fitbit-files.ts'
import { garminConnectFiles } from './garmin-connect-files.ts'
import { garminFitFiles } from './garmin-fit-files.ts'
import { googleFitFiles } from './google-fit-files.ts'
import { healthConnectFiles } from './health-connect-file.ts'
import { ouraFiles } from './oura-files.ts'
import { polarFiles } from './polar-files.ts'
import { samsungHealthFiles } from './samsung-health-files.ts'
import { type TimedLog, timedLog, type ZipPart, zipOf } from './timed-logs.ts'
import { whoopFiles } from './whoop-files.ts'
import { withingsFiles } from './withings-files.ts'

/** The name of an app's zip, the logs that it has records for, and its files. */
type AppExport = readonly [
  zip: string,
  holds: (log: SampleLog) => boolean,
  filesOf: (timed: readonly TimedLog[], offsetMinutes: number) => ZipPart[] | Promise<ZipPart[]>,
]

const every = () => true
const ofWatch = ({ deviceType }: SampleLog) => deviceType === 'watch'
const ofWatchAndScale = ({ deviceType }: SampleLog) => deviceType !== 'phone'

const appExports = {
  'apple-health': ['export', every, appleHealthFiles],
  'health-connect': ['health-connect', every, healthConnectFiles],
  'garmin-fit': ['garmin', every, garminFitFiles],
  fitbit: ['takeout', ofWatch, fitbitFiles],
  'garmin-connect': ['garmin-connect', every, garminConnectFiles],
  oura: ['oura', ofWatch, ouraFiles],
  whoop: ['my_whoop_data', ofWatch, whoopFiles],
  withings: ['withings', every, withingsFiles],
  'google-fit': ['takeout-fit', ofWatchAndScale, googleFitFiles],
  polar: ['polar', ofWatch, polarFiles],
  'samsung-health': ['samsung-health', ofWatchAndScale, samsungHealthFiles],
  fitabase: ['fitabase', ofWatchAndScale, fitabaseFiles],
  'open-mhealth': ['open-mhealth', ofWatchAndScale, openMhealthFiles],
  fhir: ['fhir', ofWatchAndScale, fhirFiles],
} as const satisfies Record<string, AppExport>

export type ExportName = keyof typeof appExports

/** Write a person's logs as the export of an app, as far as the app has records for them. */
export const exportWriters = Object.fromEntries(
  Object.entries(appExports).map(([name, [zip, holds, filesOf]]: [string, AppExport]) => [
    name,
    async (logs: readonly SampleLog[], offsetMinutes: number) => {
      const parts = await filesOf(logs.filter(holds).map(timedLog), offsetMinutes)
      return { name: `${zip}.zip`, data: zipOf(parts) }
    },
  ]),
)
