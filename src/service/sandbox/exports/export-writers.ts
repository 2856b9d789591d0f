import type { SampleLog } from '../people/sample-logs.ts'
import { appleHealthExport } from './apple-health-file.ts'
import { fhirExport, openMhealthExport } from './exchange-files.ts'
import { fitabaseExport } from './fitabase-files.ts'
import { fitbitExport } from './fitbit-files.ts'
import { garminConnectExport } from './garmin-connect-files.ts'
import { garminFitExport } from './garmin-fit-files.ts'
import { googleFitExport } from './google-fit-files.ts'
import { healthConnectExport } from './health-connect-file.ts'
import { ouraExport } from './oura-files.ts'
import { polarExport } from './polar-files.ts'
import { samsungHealthExport } from './samsung-health-files.ts'
import { whoopExport } from './whoop-files.ts'
import { withingsExport } from './withings-files.ts'

/** Writes a person's logs as the export of an app, as far as the app has records for them. */
type ExportWriter = (logs: readonly SampleLog[], offsetMinutes: number) => WrittenExport | Promise<WrittenExport>
type WrittenExport = { readonly name: string; readonly data: Buffer }

const writers = {
  'apple-health': appleHealthExport,
  'health-connect': healthConnectExport,
  'garmin-fit': garminFitExport,
  fitbit: fitbitExport,
  'garmin-connect': garminConnectExport,
  oura: ouraExport,
  whoop: whoopExport,
  withings: withingsExport,
  'google-fit': googleFitExport,
  polar: polarExport,
  'samsung-health': samsungHealthExport,
  fitabase: fitabaseExport,
  'open-mhealth': openMhealthExport,
  fhir: fhirExport,
} as const satisfies Record<string, ExportWriter>

export type ExportName = keyof typeof writers
export const exportWriters: Readonly<Record<string, ExportWriter>> = writers
