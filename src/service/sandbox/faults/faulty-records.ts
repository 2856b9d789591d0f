import { parseInstant } from '../../../base/time/instant.ts'
import { DAY, HOUR } from '../../../base/time/units.ts'
import { type FaultRule, faultSetting } from './fault-rules.ts'
import type { FaultSelector } from './fault-selector.ts'

/** A record of any kind as the service serves it. */
export type ServedRecord = Record<string, unknown>

const startFields = ['scoreDateTime', 'trendStartDateTime', 'startDateTime'] as const
const endFields = ['trendEndDateTime', 'endDateTime', 'startDateTime'] as const

function instantMsIn(record: ServedRecord, fields: readonly string[]): number | undefined {
  for (const field of fields) {
    const value = record[field]
    const instant = typeof value === 'string' ? parseInstant(value) : undefined
    if (instant) return instant.epochMs
  }
  return undefined
}

/** The end of a record's period; the period of a score is its day. */
function periodEndMsOf(record: ServedRecord): number {
  const scoredMs = instantMsIn(record, ['scoreDateTime'])
  return scoredMs === undefined ? (instantMsIn(record, endFields) ?? 0) : scoredMs + DAY
}

const recordIdOf = (record: ServedRecord) => String(record['id'] ?? JSON.stringify(record))

type RecordFaults = { rules: readonly FaultRule[]; faults: Pick<FaultSelector, 'hitsRecord' | 'countHit'> }

/** The day that the start of a record has in its own offset. */
const isOfDay = (record: ServedRecord, days: readonly string[]) =>
  startFields.some((name) => days.includes(String(record[name]).slice(0, 10)))

function strikesRecord({ faults }: RecordFaults, rule: FaultRule, record: ServedRecord): boolean {
  if (rule.days !== undefined && !isOfDay(record, rule.days)) return false
  const struck = faults.hitsRecord(rule, recordIdOf(record))
  if (struck) faults.countHit(rule)
  return struck
}

/** The records that the sandbox holds true now: late, vanished and underived records are left out, revised records preliminary. */
export function applyTimedFaults(
  records: readonly ServedRecord[],
  recordFaults: RecordFaults & { nowMs: number },
): ServedRecord[] {
  let present = [...records]
  for (const rule of recordFaults.rules) {
    const isDue = (record: ServedRecord) =>
      recordFaults.nowMs >= periodEndMsOf(record) + faultSetting(rule, 'hours') * HOUR
    const strikes = (record: ServedRecord, applies: boolean) => applies && strikesRecord(recordFaults, rule, record)
    if (rule.name === 'late') present = present.filter((record) => !strikes(record, !isDue(record)))
    if (rule.name === 'vanished') present = present.filter((record) => !strikes(record, isDue(record)))
    if (rule.name === 'failed-derivation') present = present.filter((record) => !strikes(record, true))
    if (rule.name === 'revised')
      present = present.map((record) => (strikes(record, !isDue(record)) ? preliminary(record) : record))
  }
  return present
}

/** The records as one answer writes them: some records twice, and some with an unreadable date. */
export function applySpellingFaults(records: readonly ServedRecord[], recordFaults: RecordFaults): ServedRecord[] {
  let written = [...records]
  for (const rule of recordFaults.rules) {
    const strikes = (record: ServedRecord) => strikesRecord(recordFaults, rule, record)
    if (rule.name === 'duplicates')
      written = written.flatMap((record) => (strikes(record) ? [record, record] : [record]))
    if (rule.name === 'odd-records')
      written = written.map((record) => (strikes(record) ? withUnreadableDate(record) : record))
  }
  return written
}

/** A preliminary value, a tenth too low. A value that is no number (a date, a word) stays as it is. */
function preliminary(record: ServedRecord): ServedRecord {
  const { value } = record
  if (typeof value === 'number') return { ...record, value: tenPercentLower(value) }
  const isNumeric = typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value))
  if (isNumeric) return { ...record, value: String(tenPercentLower(Number(value))) }
  const data = record['data']
  if (!Array.isArray(data)) return record
  return { ...record, data: data.map((part: unknown) => (isObject(part) ? preliminary(part) : part)) }
}

const tenPercentLower = (value: number) => Math.round(value * 900) / 1000

const isObject = (value: unknown): value is ServedRecord => typeof value === 'object' && value !== null

function withUnreadableDate(record: ServedRecord): ServedRecord {
  const field = startFields.find((name) => name in record)
  return field ? { ...record, [field]: 'not a date' } : record
}

/** The records of an upstream that excludes the end of the window. */
export function excludeEnd(records: readonly ServedRecord[], endDateTime: unknown): readonly ServedRecord[] {
  const end = typeof endDateTime === 'string' ? parseInstant(endDateTime) : undefined
  if (!end) return records
  return records.filter((record) => (instantMsIn(record, startFields) ?? Number.NEGATIVE_INFINITY) < end.epochMs)
}

/** Scores under the field names that some upstreams use. */
export function withOldNames(record: ServedRecord): ServedRecord {
  if (!('scoreDateTime' in record)) return record
  const { value, createdAt, ...rest } = record
  return { ...rest, score: value, createdAtUtc: createdAt }
}
