import { z } from 'zod'
import { DAY } from '../time/units.ts'
import { storableInstantSchema } from './instant-schemas.ts'
import { isValueOf, valueBoundsOf } from './log-value-bounds.ts'
import { durationMsOf, endsAfterStart, isObject } from './query-shapes.ts'
import { optionalTextSchema, stringMapSchema, textSchema, uuidSchema } from './text.ts'

export const logTypes = [
  'demographic',
  'sleep',
  'activity',
  'device',
  'heart',
  'blood',
  'oxygen',
  'energy',
  'temperature',
  'body',
  'exercise',
  'nutrition',
  'reproductive',
  'symptom',
] as const

export const recordingMethods = ['unknown', 'manual_entry', 'automatically_recorded', 'actively_recorded'] as const

const legacyRecordingMethods = [
  'RECORDING_METHOD_UNKNOWN',
  'RECORDING_METHOD_MANUAL_ENTRY',
  'RECORDING_METHOD_AUTOMATICALLY_RECORDED',
  'RECORDING_METHOD_ACTIVELY_RECORDED',
] as const

/** The limits of the service for one upload. The client sends fewer: ITEMS_PER_BATCH_MAX in pipeline/transfer/parcel.ts. */
export const logsPerUploadMax = 1000
export const uploadBytesMax = 1024 * 1024

export const logDaysMax = 366

const recordingMethodSchema = z
  .enum([...recordingMethods, ...legacyRecordingMethods])
  .transform((word) => word.replace(/^RECORDING_METHOD_/, '').toLowerCase())
  .pipe(z.enum(recordingMethods))

const optionalOrNull = <Schema extends z.ZodType>(schema: Schema) => schema.nullish()

const dataTypeIn = (log: unknown) => String(Object(log).dataType)

/** True also when the value is no number: another rule checks that. */
function isWithinBounds({ value, dataType }: { value: unknown; dataType: unknown }): boolean {
  return typeof value !== 'number' || isValueOf(String(dataType), value)
}

/** A log as clients send it. Unknown keys are ignored; an optional field may be missing or null. */
export const dataLogInputSchema = z
  .object({
    id: optionalOrNull(uuidSchema),
    parentId: optionalOrNull(uuidSchema),
    logType: z.enum(logTypes, { error: `must be one of ${logTypes.join(', ')}` }),
    dataType: textSchema(100),
    value: z.number(),
    unit: textSchema(50),
    source: textSchema(200),
    recordingMethod: recordingMethodSchema,
    deviceType: textSchema(100),
    deviceId: optionalTextSchema(200),
    sourceId: optionalTextSchema(200),
    periodicity: optionalOrNull(z.enum(['hourly', 'daily'])),
    aggregation: optionalOrNull(z.enum(['sum', 'avg'])),
    startDateTime: storableInstantSchema,
    endDateTime: storableInstantSchema,
    additionalProperties: optionalOrNull(stringMapSchema),
    postDateTime: optionalOrNull(storableInstantSchema),
    modifiedDateTime: optionalOrNull(storableInstantSchema),
  })
  .refine((log) => isWithinBounds(log), {
    path: ['value'],
    error: (issue) => `must lie between ${valueBoundsOf(dataTypeIn(issue.input)).join(' and ')}`,
    when: isObject,
  })
  .refine((log) => endsAfterStart(log.startDateTime, log.endDateTime), {
    path: ['endDateTime'],
    error: 'must not lie before startDateTime',
    when: isObject,
  })
  .refine((log) => (durationMsOf(log.startDateTime, log.endDateTime) ?? 0) <= logDaysMax * DAY, {
    path: ['endDateTime'],
    error: `must lie within ${logDaysMax} days of startDateTime`,
    when: isObject,
  })

export const dataLogsInputSchema = z.array(dataLogInputSchema).max(logsPerUploadMax)

export const uploadAnswerSchema = z.strictObject({
  received: z.int(),
  accepted: z.int(),
  updated: z.int(),
  duplicates: z.int(),
})

const lenientCount = z.number().optional().catch(undefined)

export const receivedUploadSchema = z.looseObject({
  received: lenientCount,
  accepted: lenientCount,
  updated: lenientCount,
  duplicates: lenientCount,
})

export type DataLogInput = z.infer<typeof dataLogInputSchema>
export type UploadAnswer = z.infer<typeof uploadAnswerSchema>
