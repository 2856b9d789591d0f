import { appleHealth } from './apple-health/apple-health.ts'
import type { HealthFormat } from './export-format.ts'
import { fhir } from './fhir.ts'
import { fitabase } from './fitbit/fitabase.ts'
import { fitbit } from './fitbit/fitbit.ts'
import { garminConnect } from './garmin-connect.ts'
import { garminFit } from './garmin-fit/garmin-fit.ts'
import { googleFit } from './google-fit.ts'
import { healthConnect } from './health-connect/health-connect.ts'
import { openMhealth } from './open-mhealth.ts'
import { oura } from './oura.ts'
import { polar } from './polar.ts'
import { samsungHealth } from './samsung-health.ts'
import { whoop } from './whoop.ts'
import { withings } from './withings.ts'

/** The exports that can be read, in the order in which a file is compared with them. */
export const exportFormats: readonly HealthFormat[] = [
  ...[appleHealth, healthConnect, garminFit, fitbit],
  ...[garminConnect, oura, whoop, withings],
  ...[googleFit, polar, samsungHealth, fitabase, openMhealth, fhir],
]

/** Raise it where a reader makes other logs of a file than before: the file is then another import, and replaces its former logs. */
export const READERS_VERSION = 3
