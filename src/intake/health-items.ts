import { type DataLogInput, dataLogInputSchema } from '../base/contract/data-log.ts'
import { evidenceOfLog } from '../base/contract/log-evidence.ts'
import { quickChecks } from '../base/contract/quick-check.ts'
import { isCleanText } from '../base/contract/text.ts'
import { namedUuid } from '../base/text/digest.ts'
import { formatInstant } from '../base/time/instant.ts'
import { createOffsetCache } from '../base/time/local-time.ts'
import type { Span } from '../base/time/spans.ts'
import { DAY, MINUTE } from '../base/time/units.ts'
import type { LogDraft, SourceInstant } from './formats/export-format.ts'
import { implausible, measureOf } from './formats/measures.ts'
import type { NewItem } from './import-rows.ts'
import { faultOfItem } from './outbox-items.ts'

export type HealthItemOptions = {
  readonly externalId: string
  /** The vendor of the export: the same record in two exports of one vendor is one log. */
  readonly vendor: string
  /** Local days are those of this zone. Absent: of the offset that the source wrote. */
  readonly timeZone: string | undefined
  readonly fromMs: number
  readonly toMs: number
  readonly stream: string
}

const logChecks = { schema: dataLogInputSchema, quickCheck: quickChecks.dataLogs }
const LOG_NAMESPACE = '3f6d1c0a-6c4e-4a55-9d0e-0e6a0c1f7b21'
const SOURCE_LENGTH_MAX = 200
const EARLIEST_MS = Date.UTC(1900, 0, 1)
const LATEST_MS = Date.UTC(2200, 0, 1)

export type HealthItem = { readonly item: NewItem; readonly localDay: string }

/**
 * Makes outbox items of drafts. The same record gives the same item, whichever file it came in, whenever. Each item is valid by
 * the schema of the stream, and its instants are whole milliseconds: what a rehearsal accepts can be stored.
 */
export function createHealthItems(options: HealthItemOptions) {
  const { fromMs, toMs, timeZone, stream } = options
  const offsetAt = timeZone === undefined ? undefined : createOffsetCache(timeZone)
  const local = ({ atMs, offsetMinutes }: SourceInstant) =>
    formatInstant({ epochMs: atMs, offsetMinutes: offsetAt ? offsetAt(atMs) / MINUTE : offsetMinutes })
  return {
    /** Why a draft is not taken, without its values; undefined for a draft that is taken. */
    refusalOf(draft: LogDraft): { readonly leftOut: string } | { readonly fault: string } | undefined {
      if (draft.start.atMs < fromMs || draft.start.atMs >= toMs) return { leftOut: 'outside --from and --to' }
      const fault = faultOf(draft)
      return fault === undefined ? undefined : { fault }
    },
    itemOf(draft: LogDraft): HealthItem | { readonly fault: string } {
      const start = wholeMs(draft.start)
      const end = draft.end === draft.start ? start : wholeMs(draft.end)
      const startDateTime = local(start)
      const body = bodyOf(draft, {
        startDateTime,
        endDateTime: end === start ? startDateTime : local(end),
        id: idOf(draft, { startMs: start.atMs, endMs: end.atMs }, options),
      })
      const fault = faultOfItem(logChecks, body)
      if (fault !== undefined) return { fault }
      const item = {
        stream,
        itemKey: body.id,
        body: JSON.stringify(body),
        startAtMs: start.atMs,
        endAtMs: end.atMs,
        modifiedMs: storableMs(draft.origin.modifiedMs),
        evidence: evidenceOfLog(body),
      }
      return { item, localDay: startDateTime.slice(0, 10) }
    },
  }
}

/** Durations of some sources have fractions of a millisecond. */
const wholeMs = ({ atMs, offsetMinutes }: SourceInstant): SourceInstant => ({ atMs: Math.round(atMs), offsetMinutes })

const OFFSET_MAX = 14 * 60

/** The instant of the last change, where it can be stored. */
const storableMs = (atMs: number | undefined) => (isStorable(atMs) ? Math.round(atMs) : undefined)

const isStorable = (atMs: number | undefined): atMs is number =>
  atMs !== undefined && atMs >= EARLIEST_MS && atMs < LATEST_MS

function faultOf({ dataType, value, start, end, origin: { source, deviceType } }: LogDraft): string | undefined {
  if (end.atMs < start.atMs) return 'it ends before it starts'
  if (end.atMs - start.atMs > DAY) return 'it lasts longer than a day'
  if (!isStorable(start.atMs) || !isStorable(end.atMs)) return 'its date-time lies outside the years 1900 to 2199'
  if (!(Math.abs(start.offsetMinutes) <= OFFSET_MAX && Math.abs(end.offsetMinutes) <= OFFSET_MAX))
    return 'its offset lies outside -14:00 to +14:00'
  if (!isCleanText(source) || !isCleanText(deviceType)) return 'its source holds NUL or half a character'
  return implausible(dataType, value, (end.atMs - start.atMs) / MINUTE)
}

/**
 * The source's own id where it has one. Else it is made of the record alone, without its value: a record that a later
 * export corrects is the same record.
 */
function idOf(
  { dataType, origin }: LogDraft,
  { startMs, endMs }: Span,
  { externalId, vendor }: HealthItemOptions,
): string {
  const { ownId, source, deviceId } = origin
  if (ownId !== undefined) return namedUuid(LOG_NAMESPACE, [externalId, vendor, dataType, ownId])
  return namedUuid(LOG_NAMESPACE, [
    externalId,
    vendor,
    dataType,
    source,
    deviceId ?? '',
    String(startMs),
    String(endMs),
  ])
}

/** `undefined` is no field of the JSON text. */
type LogBody = { readonly id: string } & { readonly [Field in keyof DataLogInput]: DataLogInput[Field] | undefined }

function bodyOf(draft: LogDraft, placed: Pick<LogBody, 'startDateTime' | 'endDateTime'> & { id: string }): LogBody {
  const { dataType, value, origin } = draft
  const { source, deviceType, deviceId, recordingMethod, modifiedMs, properties } = origin
  const { logType, unit } = measureOf(dataType)
  return {
    id: placed.id,
    logType,
    dataType,
    value: Number(value.toFixed(4)),
    unit,
    source: source.slice(0, SOURCE_LENGTH_MAX).toWellFormed(),
    recordingMethod,
    deviceType,
    deviceId,
    periodicity: origin.periodicity,
    aggregation: origin.aggregation,
    startDateTime: placed.startDateTime,
    endDateTime: placed.endDateTime,
    additionalProperties: properties && { ...properties },
    modifiedDateTime: isStorable(modifiedMs) ? new Date(modifiedMs).toISOString() : undefined,
  }
}
