import { expect, test } from 'vitest'
import { dataLogInputSchema } from '../../../src/base/contract/data-log.ts'
import { HOUR } from '../../../src/base/time/units.ts'
import { exportFormats } from '../../../src/intake/formats/known-formats.ts'
import { exportWriters } from '../../../src/service/sandbox/exports/export-writers.ts'
import { logsOf, samplePeople } from '../../../src/service/sandbox/people/sample-people.ts'
import { entriesOf, fileOf, importOne } from '../../support/health-files.ts'
import { createSeries, mutated } from '../../support/mutated-files.ts'

const endMs = Date.parse('2026-03-02T12:00:00Z')
const person = samplePeople('mutations', 1)[0]
const logs = person ? logsOf(person, { startMs: endMs - 8 * HOUR, endMs }) : []
const ROUNDS = Number(process.env['FUZZ_ROUNDS'] ?? 30)

test.each(Object.keys(exportWriters))(
  'mutated files of %s crash nothing, hang nothing, and each gives a report',
  {
    timeout: 30 * 60_000,
  },
  async (format) => {
    const written = (await exportWriters[format]?.(logs, 60))?.data ?? Buffer.alloc(4)
    // Whole files: the beginning of a database, or of a list in JSON, is none.
    const entries = entriesOf(written)
    const next = createSeries(17)
    for (let round = 0; round < ROUNDS; round += 1) {
      const entry = entries[round % entries.length]
      if (!entry) continue
      const file = fileOf(entry.name, mutated(entry.data, next))
      const {
        reports,
        unread,
        logs: read,
      } = await importOne(file, { timeZone: 'Europe/London', formats: exportFormats })

      expect(reports.length + unread.length).toBe(1)
      for (const log of read.slice(0, 50)) dataLogInputSchema.parse(log)
    }
  },
)
