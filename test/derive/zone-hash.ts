/**
 * Run as a process of its own: prints the hash of everything derived for some sample people, and for any logs whatever of
 * the seed that it is given.
 */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { derive } from '../../src/service/derive/derive.ts'
import { unknownPerson } from '../../src/service/derive/log.ts'
import { logsOf, peopleOf } from '../../src/service/sandbox/people/people.ts'
import { anyLogs, asOf } from './lives.ts'
import { logOf, profileId } from './logs.ts'

// Across the night on which Europe's clocks go back, and Lord Howe's half an hour forward.
const endMs = Date.parse('2026-11-02T12:00:00Z')
const hash = createHash('sha256')
for (const person of peopleOf('zones', 3).slice(1)) {
  const logs = logsOf(person, { startMs: endMs - 35 * 86_400_000, endMs }).map(logOf)
  hash.update(
    JSON.stringify(derive({ logs, person: { ...unknownPerson, birthDate: '1980-03-29' }, asOf: endMs, profileId })),
  )
}
for (const logs of fc.sample(anyLogs, { numRuns: 12, seed: Number(process.argv[2]) })) {
  hash.update(JSON.stringify(derive({ logs, person: unknownPerson, asOf, profileId })))
}
process.stdout.write(`${hash.digest('hex')} ${new Date(0).getTimezoneOffset()}`)
