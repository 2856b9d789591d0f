import { faultNames } from '../../src/service/sandbox/faults/fault-catalogue.ts'

/** The kinds of change that come with a release of an upstream. */
export const driftFaults = faultNames.filter((name) => name.startsWith('drift-') || name === 'duplicates')
