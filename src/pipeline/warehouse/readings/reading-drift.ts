import { isJsonObject, jsonOrUndefined } from '../../../base/text/json.ts'
import { DAY } from '../../../base/time/units.ts'
import type { RecordExaminer } from '../../transfer/examine-records.ts'
import type { DayInOtherUnit, FoundMisfit, Misfit, ReadingDrift } from '../../transfer/misfits.ts'
import type { Reading } from '../../transfer/reading.ts'
import type { Fields, PulledStream } from '../../transfer/stream.ts'
import { localDateTextOf, type RecordRow, recordPeriod, toRecordRow } from './record-rows.ts'

export type ReadingExaminer = {
  examinerOf(stream: PulledStream): RecordExaminer | undefined
  /** Whether the misfit was accepted, or enough people are counted: then it is not counted, only noted as seen. */
  isSettled(stream: PulledStream, misfit: Misfit): boolean
}

/** Every 32nd record is examined whole, the first included, and the kind and the unit of each. When something new is found, all records are. */
const EVERY = 32
const INVALID_MAX = 20
const UNITS_OF_DAY_MAX = 10

export const NO_DRIFT: ReadingDrift = { misfits: [], days: [] }

const order: Misfit = { what: 'order', path: '', detail: '' }
const duplicates: Misfit = { what: 'duplicates', path: '', detail: '' }
const pages: Misfit = { what: 'pages', path: '', detail: '' }

/** `rows`: what was made of the reading's records. `unusable`: how many of them could not be made rows. */
export function driftOf(
  { stream, records, invalid, isPartial, sentAtMs }: Reading,
  { rows, unusable }: { readonly rows: readonly RecordRow[]; readonly unusable: number },
  readingExaminer: ReadingExaminer,
): ReadingDrift {
  const examiner = readingExaminer.examinerOf(stream)
  if (examiner === undefined) return NO_DRIFT
  const isNew = (misfit: Misfit) => !readingExaminer.isSettled(stream, misfit)
  const odd = invalid
    .slice(0, INVALID_MAX)
    .map(({ raw }) => jsonOrUndefined(raw))
    .filter(isJsonObject)
  const showsNew =
    odd.length > 0 ||
    records.some(({ fields }, index) => {
      if (index % EVERY === 0 && examiner.examine(fields).some(isNew)) return true
      const ofKind = examiner.kindMisfitOf(fields)
      return ofKind !== undefined && isNew(ofKind)
    })
  const isUnordered = !isNewestFirst(rows)
  const repeated = records.length - rows.length - unusable
  const stopped = examiner.optional.addAnswer(records, sentAtMs)
  if (!showsNew && !isUnordered && repeated === 0 && !isPartial && stopped.length === 0) return NO_DRIFT
  const found = showsNew
    ? driftOfRecords(stream, [...records.map(({ fields }) => fields), ...odd], readingExaminer)
    : NO_DRIFT
  const ofAnswer = [
    ...(isUnordered ? [{ misfit: order, records: rows.length, localDate: undefined }] : []),
    ...(repeated > 0 ? [{ misfit: duplicates, records: repeated, localDate: undefined }] : []),
    ...(isPartial ? [{ misfit: pages, records: records.length, localDate: undefined }] : []),
    ...stopped.map((path) => ({
      misfit: { what: 'stopped', path, detail: '' } as const,
      ...{ records: records.length, localDate: localDateTextOf(stream, records[0]?.fields) },
    })),
  ]
  return { ...found, misfits: [...found.misfits, ...ofAnswer.filter(({ misfit }) => isNew(misfit))] }
}

/** How these records differ, each examined whole. */
export function driftOfRecords(
  stream: PulledStream,
  records: readonly Fields[],
  { examinerOf, isSettled }: ReadingExaminer,
): ReadingDrift {
  const examiner = examinerOf(stream)
  if (examiner === undefined) return NO_DRIFT
  const tally = new Map<Misfit, FoundMisfit>()
  const days = new Map<number, DayInOtherUnit>()
  for (const fields of records) {
    const misfits = examiner.examine(fields)
    for (const misfit of misfits) {
      const { records: before, localDate } = tally.get(misfit) ?? {
        records: 0,
        localDate: localDateTextOf(stream, fields),
      }
      tally.set(misfit, { misfit, records: before + 1, localDate })
    }
    addUnits(days, stream, fields, misfits)
  }
  return { misfits: [...tally.values()].filter(({ misfit }) => !isSettled(stream, misfit)), days: [...days.values()] }
}

function isNewestFirst(rows: readonly RecordRow[]): boolean {
  let earliest = Number.POSITIVE_INFINITY
  for (const { startMicros } of rows) {
    if (startMicros === null) continue
    if (startMicros > earliest) return false
    earliest = startMicros
  }
  return true
}

function addUnits(
  days: Map<number, DayInOtherUnit>,
  stream: PulledStream,
  fields: Fields,
  misfits: readonly Misfit[],
): void {
  const units = misfits.flatMap(({ what, path, detail }) => (what === 'unit' ? `${path} ${detail}` : []))
  const row = units.length > 0 && toRecordRow(stream, { raw: '', fields })
  if (!row || 'reason' in row || row.startMicros === null) return
  const period = recordPeriod(row)
  const startMs = Math.floor(period.startMs / DAY) * DAY
  const before = days.get(startMs)
  days.set(startMs, {
    startMs,
    endMs: Math.max(before?.endMs ?? 0, Math.floor(period.endMs / DAY + 1) * DAY),
    units: [...new Set([...(before?.units ?? []), ...units])].toSorted().slice(0, UNITS_OF_DAY_MAX),
  })
}
