import { SECOND } from './units.ts'

/** With a larger skew between two clocks the queue would take healthy jobs for dead ones. */
export const CLOCK_SKEW_MAX_MS = 30 * SECOND
