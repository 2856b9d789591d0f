import type { FileHead } from './export-format.ts'
import { columnsIn, firstRowIn, type RowReader, readTableRows, type SourceRow } from './small-files.ts'
import { instantIn } from './source-times.ts'
import { textIn } from './source-values.ts'

/** Columns and the first row of a file. */
type Shape = { readonly columns: readonly string[]; readonly row: readonly string[] }

const unitIn = (column = ''): string | undefined => /\((kg|lbs?|st|m|cm)\)\s*$/.exec(column)?.[1]?.replace('lbs', 'lb')

const startsWithSpan = ({ row }: Shape): boolean => instantIn(row[0]) !== undefined && instantIn(row[1]) !== undefined

/**
 * By the name of a file, which is English in all exports: the English names of its columns, which have the same places in all
 * languages. Undefined: the file has another shape than the English one.
 */
const englishColumns: Readonly<Record<string, (shape: Shape) => readonly string[] | undefined>> = {
  weight({ columns }) {
    const units = columns.slice(1).map(unitIn)
    const masses = units.filter((unit) => unit !== undefined)
    // The scales of 2014 had three: of these only the first is known for certain.
    if (masses.length === 0 || units[0] === undefined) return undefined
    const names = masses.length === 5 ? ['Weight', 'Fat mass', 'Bone mass', 'Muscle mass', 'Hydration'] : ['Weight']
    return ['Date', ...names.map((name, index) => `${name} (${units[index]})`)]
  },
  height: ({ columns }) => (unitIn(columns[1]) === undefined ? undefined : ['Date', `Height (${unitIn(columns[1])})`]),
  bp: ({ columns, row }) =>
    columns.length >= 4 && Number(row[2]) > Number(row[3])
      ? ['Date', 'Heart rate', 'Systolic', 'Diastolic']
      : undefined,
  sleep: (shape) =>
    startsWithSpan(shape) && shape.columns.slice(2, 6).every((column) => column.endsWith('(s)'))
      ? ['from', 'to', 'light (s)', 'deep (s)', 'rem (s)', 'awake (s)']
      : undefined,
  activities: (shape) =>
    startsWithSpan(shape) && /^\w+\/\w+/.test(shape.row[4] ?? '')
      ? ['from', 'to', 'from (manual)', 'to (manual)', 'Timezone', 'Activity type']
      : undefined,
  raw: ({ row }) =>
    instantIn(row[0]) && [row[1], row[2]].every((cell = '') => /^\[.*\]$/.test(cell))
      ? ['start', 'duration', 'value']
      : undefined,
}

const named = /(?:^|\/)(?:(weight|height|bp|sleep|activities)(?:_\d+)?|(raw)_[^/]*)\.csv$/

/** The English names of the columns of a file in any language; those that it has where it is none of Withings. */
export function withingsColumns(head: FileHead): ReadonlySet<string> {
  const columns = columnsIn(head)
  const [, table, raw] = named.exec(head.name) ?? []
  const english = englishColumns[table ?? raw ?? '']?.({ columns: [...columns], row: firstRowIn(head) })
  return english === undefined ? columns : new Set(english)
}

/** The rows of a table under the English names of its columns. A number may have a decimal comma, a date the word `Uhr`. */
export const readWithingsRows: RowReader = async function* (file, head) {
  const columns = columnsIn(head)
  const english = [...withingsColumns(head)]
  const isEnglish = english.every((name) => columns.has(name))
  for await (const { rows, bytesRead } of readTableRows(file, head))
    yield { rows: isEnglish ? rows : rows.map((row) => renamed(row, english)), bytesRead }
}

function renamed(row: SourceRow, english: readonly string[]): SourceRow {
  const cells = Object.values(row)
  return Object.fromEntries(
    english.map((name, index) => {
      const cell = textIn(cells[index]).trim()
      if (name === 'Date') return [name, dateIn(cell)]
      return [name, /^\d+,\d+$/.test(cell) ? cell.replace(',', '.') : cells[index]]
    }),
  )
}

/** `2014-02-13 6:04 Uhr` is `2014-02-13 06:04`. */
function dateIn(cell: string): string {
  const [, day, hour = '', rest] = /^(\d{4}-\d\d-\d\d) (\d{1,2})(:\d\d(?::\d\d)?)(?: Uhr)?$/.exec(cell) ?? []
  return day === undefined ? cell : `${day} ${hour.padStart(2, '0')}${rest}`
}

/** Words of exercise in the languages of the exports that were found. Other words are no name of ours. */
const exercises: Readonly<Record<string, string>> = {
  gehen: 'walking',
  marche: 'walking',
  caminar: 'walking',
  laufen: 'running',
  'course à pied': 'running',
  correr: 'running',
  wandern: 'hiking',
  randonnée: 'hiking',
  senderismo: 'hiking',
  radfahren: 'cycling',
  vélo: 'cycling',
  cyclisme: 'cycling',
  ciclismo: 'cycling',
  schwimmen: 'swimming',
  natation: 'swimming',
  natación: 'swimming',
}

export function withingsExercise(cell: unknown): string {
  const word = textIn(cell).trim().toLowerCase()
  return (Object.hasOwn(exercises, word) ? exercises[word] : undefined) ?? textIn(cell)
}
