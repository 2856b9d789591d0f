import { z } from 'zod'
import { writtenInstantSchema } from './instant.ts'
import { endsAfterStart, isObject, spanMsOf } from './query.ts'
import { stringMapSchema, textSchema, uuidSchema } from './text.ts'

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

/** Limits of one upload: what the service takes at most. */
export const logsPerUploadMax = 1000
export const uploadBytesMax = 1024 * 1024

const spanDaysMax = 366

const recordingMethodSchema = z
  .enum([...recordingMethods, ...legacyRecordingMethods])
  .transform((word) => word.replace(/^RECORDING_METHOD_/, '').toLowerCase())
  .pipe(z.enum(recordingMethods))

const absent = <Schema extends z.ZodType>(schema: Schema) => schema.nullish()

/** A log as it is sent. Unknown keys are ignored; an absent optional field may also be null. */
export const dataLogInputSchema = z
  .object({
    id: absent(uuidSchema),
    parentId: absent(uuidSchema),
    logType: z.enum(logTypes, { error: `must be one of ${logTypes.join(', ')}` }),
    dataType: textSchema(100),
    value: z.number(),
    unit: textSchema(50),
    source: textSchema(200),
    recordingMethod: recordingMethodSchema,
    deviceType: textSchema(100),
    deviceId: absent(textSchema(200)),
    sourceId: absent(textSchema(200)),
    periodicity: absent(z.enum(['hourly', 'daily'])),
    aggregation: absent(z.enum(['sum', 'avg'])),
    startDateTime: writtenInstantSchema,
    endDateTime: writtenInstantSchema,
    additionalProperties: absent(stringMapSchema),
    postDateTime: absent(writtenInstantSchema),
    modifiedDateTime: absent(writtenInstantSchema),
  })
  .refine((log) => endsAfterStart(log.startDateTime, log.endDateTime), {
    path: ['endDateTime'],
    error: 'must not lie before startDateTime',
    when: isObject,
  })
  .refine((log) => (spanMsOf(log.startDateTime, log.endDateTime) ?? 0) <= spanDaysMax * 86_400_000, {
    path: ['endDateTime'],
    error: `must lie within ${spanDaysMax} days of startDateTime`,
    when: isObject,
  })

export const dataLogsInputSchema = z.array(dataLogInputSchema).max(logsPerUploadMax)

export const uploadAnswerSchema = z.strictObject({
  received: z.int(),
  accepted: z.int(),
  updated: z.int(),
  duplicates: z.int(),
})

const countReading = z.number().optional().catch(undefined)

export const uploadReadingSchema = z.looseObject({
  received: countReading,
  accepted: countReading,
  updated: countReading,
  duplicates: countReading,
})

export type DataLogInput = z.infer<typeof dataLogInputSchema>
export type UploadAnswer = z.infer<typeof uploadAnswerSchema>
export type UploadReading = z.infer<typeof uploadReadingSchema>
