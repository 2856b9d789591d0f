import { parseInstant } from '../../../contract/instant.ts'
import { DAY, HOUR } from '../../../window.ts'
import type { Faults } from './decisions.ts'
import { type Rule, settingOf } from './rules.ts'

/** A record as it is served: whatever its kind, with an id. */
export type ServedRecord = Record<string, unknown>

const startFields = ['scoreDateTime', 'trendStartDateTime', 'startDateTime'] as const
const endFields = ['trendEndDateTime', 'endDateTime', 'startDateTime'] as const

function instantIn(record: ServedRecord, fields: readonly string[]): number | undefined {
  for (const field of fields) {
    const value = record[field]
    const instant = typeof value === 'string' ? parseInstant(value) : undefined
    if (instant) return instant.epochMs
  }
  return undefined
}

/** Until when a record's period lasts; a score's is its day. */
function periodEndOf(record: ServedRecord): number {
  const scored = instantIn(record, ['scoreDateTime'])
  return scored === undefined ? (instantIn(record, endFields) ?? 0) : scored + DAY
}

const idOf = (record: ServedRecord) => String(record['id'] ?? JSON.stringify(record))

/** The records as upstream means them now: without those that are late or vanished, and some still preliminary. */
export function presentRecords(
  records: readonly ServedRecord[],
  world: { rules: readonly Rule[]; faults: Pick<Faults, 'strikes' | 'count'>; nowMs: number },
): ServedRecord[] {
  let present = [...records]
  for (const rule of world.rules) {
    const isDue = (record: ServedRecord) => world.nowMs >= periodEndOf(record) + settingOf(rule, 'hours') * HOUR
    const strikes = (record: ServedRecord, met: boolean) => {
      const struck = met && world.faults.strikes(rule, idOf(record))
      if (struck) world.faults.count(rule)
      return struck
    }
    if (rule.name === 'late') present = present.filter((record) => !strikes(record, !isDue(record)))
    if (rule.name === 'vanished') present = present.filter((record) => !strikes(record, isDue(record)))
    if (rule.name === 'revised')
      present = present.map((record) => (strikes(record, !isDue(record)) ? preliminary(record) : record))
  }
  return present
}

/** The records as this one answer spells them out: some twice, some unreadable. */
export function spelledRecords(
  records: readonly ServedRecord[],
  world: { rules: readonly Rule[]; faults: Pick<Faults, 'strikes' | 'count'> },
): ServedRecord[] {
  let spelled = [...records]
  for (const rule of world.rules) {
    const strikes = (record: ServedRecord) => {
      const struck = world.faults.strikes(rule, idOf(record))
      if (struck) world.faults.count(rule)
      return struck
    }
    if (rule.name === 'duplicates')
      spelled = spelled.flatMap((record) => (strikes(record) ? [record, record] : [record]))
    if (rule.name === 'odd-records') spelled = spelled.map((record) => (strikes(record) ? unreadable(record) : record))
  }
  return spelled
}

/** A first value that is a tenth too low. What has no number (a date, a word) is right at once. */
function preliminary(record: ServedRecord): ServedRecord {
  const { value } = record
  if (typeof value === 'number') return { ...record, value: tenthOff(value) }
  const isNumeric = typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value))
  if (isNumeric) return { ...record, value: String(tenthOff(Number(value))) }
  const data = record['data']
  if (!Array.isArray(data)) return record
  return { ...record, data: data.map((one: unknown) => (isObject(one) ? preliminary(one) : one)) }
}

const tenthOff = (value: number) => Math.round(value * 900) / 1000

const isObject = (value: unknown): value is ServedRecord => typeof value === 'object' && value !== null

function unreadable(record: ServedRecord): ServedRecord {
  const field = startFields.find((name) => name in record)
  return field ? { ...record, [field]: 'not a date' } : record
}

/** What an upstream answers that takes the end of the window as not belonging to it. */
export function beforeEnd(records: readonly ServedRecord[], endDateTime: unknown): readonly ServedRecord[] {
  const end = typeof endDateTime === 'string' ? parseInstant(endDateTime) : undefined
  if (!end) return records
  return records.filter((record) => (instantIn(record, startFields) ?? Number.NEGATIVE_INFINITY) < end.epochMs)
}

/** Scores under the names that some upstreams have been seen to use. */
export function underOldNames(record: ServedRecord): ServedRecord {
  if (!('scoreDateTime' in record)) return record
  const { value, createdAt, ...rest } = record
  return { ...rest, score: value, createdAtUtc: createdAt }
}
