import { foldedPath } from '../../pipeline/transfer/misfits.ts'
import type { Fields, PulledStream } from '../../pipeline/transfer/stream.ts'
import {
  type ContractPoint,
  type Deviation,
  type Exchange,
  harmful,
  harmless,
  listed,
  recordsOf,
} from './contract-point.ts'
import { type ContractMisfit, misfitsOf } from './known-records.ts'
import { keyOf, periodsOf, wholeAnswers } from './stream-answers.ts'

type PointOf = (stream: PulledStream) => ContractPoint

type Judge = (
  stream: PulledStream,
  seen: { readonly records: readonly Fields[]; readonly answers: readonly Exchange[] },
) => readonly Deviation[]

/** A point that looks at the records of the whole windows, and asks nothing more. */
const recordsPoint =
  (name: string, specified: string, judge: Judge): PointOf =>
  (stream) => ({
    name: `${stream.name}: ${name}`,
    specified,
    judge(seen) {
      const answers = wholeAnswers(stream, seen)
      const records = answers.flatMap(recordsOf)
      if (records.length === 0) return undefined
      const question = answers.find((answer) => recordsOf(answer).length > 0)?.question
      return judge(stream, { records, answers }).map((difference) => ({ ...difference, question }))
    },
  })

const pathsOf = (misfits: readonly ContractMisfit[], what: ContractMisfit['what']) =>
  misfits.filter((misfit) => misfit.what === what).map(({ path }) => path)

/** Whether a column of the warehouse is empty where this field is not there. */
function emptiesColumn(stream: PulledStream, field: string, records: readonly Fields[]): boolean {
  const column = stream.columns.find(({ from }) => from.includes(field))
  return column !== undefined && !records.some((record) => column.from.some((name) => record[name] != null))
}

const fieldsPoint = recordsPoint('fields', 'the fields of its record, no more and no less', (stream, { records }) => {
  const misfits = misfitsOf(stream, records)
  const [extra, missing, nulls] = [pathsOf(misfits, 'extra'), pathsOf(misfits, 'missing'), pathsOf(misfits, 'null')]
  const lost = missing.filter((path) => emptiesColumn(stream, path, records))
  const unread = missing.filter((path) => !lost.includes(path))
  const quarantined = pathsOf(misfits, 'quarantined').filter((path) => missing.includes(path) || nulls.includes(path))
  return [
    ...listed(harmless, 'further fields, kept in raw:', extra),
    ...listed(harmful, 'no field for a column of the warehouse:', lost),
    ...listed(harmless, 'not sent:', unread),
    ...listed(harmless, 'null where the field would be absent:', nulls),
    ...listed(harmful, 'records would be quarantined for', quarantined),
  ]
})

const typesPoint = recordsPoint('types', 'JSON types, forms and ranges of its record', (stream, { records }) => {
  const misfits = misfitsOf(stream, records)
  const quarantined = new Set(pathsOf(misfits, 'quarantined'))
  const shown = (misfit: ContractMisfit) => `${misfit.path} ${misfit.detail}`.trim()
  const of = (what: ContractMisfit['what']) => misfits.filter((misfit) => misfit.what === what)
  const refused = of('type').filter(({ path }) => quarantined.has(path))
  const read = of('type').filter(({ path }) => !quarantined.has(path))
  const instants = of('form').flatMap(({ path, detail }) => (detail === 'datetime' ? [path] : []))
  const forms = of('form').filter(({ detail }) => detail !== 'datetime')
  return [
    ...listed(harmful, 'records would be quarantined:', refused.map(shown)),
    ...listed(harmless, 'other types:', read.map(shown)),
    ...listed(harmful, 'out of range, another scale?', pathsOf(misfits, 'range')),
    ...listed(harmful, 'instants without offset, or none:', instants),
    ...listed(harmless, 'other forms:', forms.map(shown)),
  ]
})

/** Words on which the days of the warehouse depend. */
const decisiveWords: readonly string[] = ['periodicity']

const wordsPoint = recordsPoint('words', 'the words of its closed lists, and its types', (stream, { records }) => {
  const misfits = misfitsOf(stream, records)
  const of = (what: ContractMisfit['what']) => misfits.filter((misfit) => misfit.what === what)
  const shown = (found: readonly ContractMisfit[]) => found.map(({ path, detail }) => `${path} ${detail}`)
  const decisive = of('word').filter(({ path }) => decisiveWords.includes(path))
  const others = [...of('word').filter(({ path }) => !decisiveWords.includes(path)), ...of('kind')]
  return [
    ...listed(harmless, 'further words, stored as they come:', shown(others)),
    ...listed(harmful, 'words in another case, other words for a query:', shown(of('case'))),
    ...listed(harmful, 'words by which days are found:', shown(decisive)),
  ]
})

const unitsPoint = recordsPoint(
  'units',
  'one unit a type, as in docs/reference/derivation.md',
  (stream, { records }) => {
    const units = misfitsOf(stream, records).flatMap(({ what, detail }) => (what === 'unit' ? [detail] : []))
    return listed(harmful, 'other units:', units)
  },
)

type WrittenInstant = { readonly path: string; readonly digits: number }
const pathOf = ({ path }: WrittenInstant) => path

function instantsIn(record: Fields): readonly WrittenInstant[] {
  return Object.entries(record).flatMap(([name, value]) => {
    const match = typeof value === 'string' ? /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d+))?/.exec(value) : null
    return match ? [{ path: foldedPath([name]), digits: match[1]?.length ?? 0 }] : []
  })
}

/** The instant at which a record was made is one of a clock: in whole seconds it was cut. */
const clockFields: readonly string[] = ['createdAt', 'createdAtUtc']

const instantsPoint = recordsPoint(
  'precision of instants',
  'milliseconds at most, of a clock no less',
  (_stream, { records }) => {
    const instants = records.flatMap(instantsIn)
    const finer = instants.filter(({ digits }) => digits > 3)
    const made = instants.filter(({ path }) => clockFields.includes(path))
    const isCut = made.length > 1 && made.every(({ digits }) => digits === 0)
    return [
      ...listed(harmless, 'finer than milliseconds:', finer.map(pathOf)),
      ...(isCut ? listed(harmless, 'in whole seconds:', made.map(pathOf)) : []),
    ]
  },
)

const orderPoint = recordsPoint('order', 'newest first', (stream, { answers }) => {
  const isSorted = answers.every((answer) => {
    const starts = periodsOf(stream, answer).map(({ startMs }) => startMs)
    return starts.every((startMs, index) => index === 0 || startMs <= (starts[index - 1] ?? startMs))
  })
  return isSorted ? [] : [harmless('another order: of two records with one key the first counts')]
})

const duplicatesPoint = recordsPoint('duplicates', 'a record once in an answer', (stream, { answers }) => {
  const hasTwice = answers.some((answer) => {
    const keys = recordsOf(answer).map((record) => keyOf(stream, record))
    return new Set(keys).size < keys.length
  })
  return hasTwice ? [harmless('some records twice: the first counts')] : []
})

/** Points about the records of any stream, and those about lists of records. */
export const recordPoints: readonly PointOf[] = [fieldsPoint, typesPoint, wordsPoint, unitsPoint, instantsPoint]
export const listPoints: readonly PointOf[] = [orderPoint, duplicatesPoint]
