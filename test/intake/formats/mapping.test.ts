import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { HealthFormat, MappingRow } from '../../../src/intake/formats/export-format.ts'
import { exportFormats } from '../../../src/intake/formats/known-formats.ts'
import { measureOf } from '../../../src/intake/formats/measures.ts'
import { unitsTakenFor } from '../../../src/intake/formats/source-units.ts'

const page = fileURLToPath(new URL('../../../docs/imports.md', import.meta.url))

const intro = `# Health exports

\`vitalsync import FILE --profile ID\` takes the export of a health app as it was downloaded: a file, a zip or a folder of them.
The format is found by the content; where all files of an export look alike, their own names tell what they measure. This page is
generated from the code; a test compares the two.

- **Days.** A record belongs to the local day of the offset that the source wrote, or of \`--time-zone Area/City\` where given.
- **Again.** A log's id is the source's own, or made of the person, the vendor, the measure, the source, the device, the start and the
  end, without the value. The same file, or a newer export that contains it, adds nothing; what a newer export changed replaces.
- **Stopped.** After Ctrl-C or a crash the same command reads from the beginning and stores from where it stopped.
- **Report.** For each file: records read, mapped, left out and rejected by reason, duplicates, first and last day, devices. Rejected
  records are in \`FILE.rejects.ndjson\` with place and reason. \`--dry-run\` reports the same, duplicates too, and stores nothing.
- **Thinning.** \`--heart-rate 1m\` or \`5m\` averages the heart rate of each device. Imported once raw and once averaged, both are kept.
- **Limits.** Entries of a zip are streamed, and only a database is copied, while it is read. A zip with a path that leads out of it, a link, an encrypted entry, or
  one that unpacks to more than 200 times its size is refused; a zip within a zip is not read.

Why it is so: [decisions/import-formats.md](decisions/import-formats.md).
`

const unitsOf = ({ to, units }: MappingRow) => {
  if (units !== undefined || to === undefined) return units ?? ''
  return unitsTakenFor(measureOf(to).unit).join(', ')
}

const rowOf = (row: MappingRow) => {
  const cells = [
    row.from,
    row.to ?? 'left out',
    row.to ? measureOf(row.to).logType : '',
    row.to ? measureOf(row.to).unit : '',
  ]
  return `| ${[...cells, unitsOf(row), row.note ?? ''].join(' | ')} |`
}

const sectionOf = ({ name, title, files, checked, mapping }: HealthFormat) =>
  [
    `## ${title}`,
    '',
    `\`${name}\`: ${files}. Checked with ${checked}.`,
    '',
    '| in the export | dataType | logType | unit | converted from | remark |',
    '|---|---|---|---|---|---|',
    ...mapping.map(rowOf),
    '',
  ].join('\n')

test('docs/imports.md maps what the formats map (npx vitest -u writes it anew)', async () => {
  await expect(`${intro}\n${exportFormats.map(sectionOf).join('\n')}`).toMatchFileSnapshot(page)
})
