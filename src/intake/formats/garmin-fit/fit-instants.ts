import { SECOND } from '../../../base/time/units.ts'
import type { SourceInstant } from '../export-format.ts'

/** Seconds from 1970 to the last day of 1989, from which a device counts. Smaller ones count from when it was switched on. */
const EPOCH_SECONDS = 631_065_600
const SINCE_SWITCHED_ON = 0x10000000

/** The instant of a time in a FIT file; undefined where the device had no clock. */
export const fitInstant = (seconds: number | undefined, offsetMinutes: number): SourceInstant | undefined =>
  seconds === undefined || seconds < SINCE_SWITCHED_ON
    ? undefined
    : { atMs: (seconds + EPOCH_SECONDS) * SECOND, offsetMinutes }
