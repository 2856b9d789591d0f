/**
 * Run as a separate process: prints the hash of everything derived for some sample people, and for arbitrary logs of the
 * given seed.
 */

import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { DAY } from '../../../src/base/time/units.ts'
import { logsOf, samplePeople } from '../../../src/service/sandbox/people/sample-people.ts'
import { anyLogs, asOfMs } from './arbitrary-logs.ts'
import { derive } from './derive-at-once.ts'
import { logOf, profileId, unknownDemographics } from './made-logs.ts'

// Covers the nights on which Europe's clocks go back and Lord Howe's go half an hour forward.
const endMs = Date.parse('2026-11-02T12:00:00Z')
const hash = createHash('sha256')
for (const person of samplePeople('zones', 3).slice(1)) {
  const logs = logsOf(person, { startMs: endMs - 35 * DAY, endMs }).map(logOf)
  hash.update(
    JSON.stringify(
      derive({ logs, demographics: { ...unknownDemographics, birthDate: '1980-03-29' }, asOfMs: endMs, profileId }),
    ),
  )
}
for (const logs of fc.sample(anyLogs, { numRuns: 12, seed: Number(process.argv[2]) })) {
  hash.update(JSON.stringify(derive({ logs, demographics: unknownDemographics, asOfMs, profileId })))
}
process.stdout.write(`${hash.digest('hex')} ${new Date(0).getTimezoneOffset()}`)
