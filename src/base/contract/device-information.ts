import { z } from 'zod'
import { parseOffset } from '../time/instant.ts'
import { optionalTextSchema, textSchema, uuidSchema } from './text.ts'

const offsetSchema = z
  .string()
  .max(10)
  .refine((text) => /^[+-]/.test(text) && parseOffset(text) !== undefined, {
    error: 'must be an offset such as +12:00',
  })

export const deviceInformationInputSchema = z.object({
  sdkId: textSchema(100),
  sdkVersion: textSchema(100),
  appId: textSchema(200),
  appVersion: optionalTextSchema(100),
  deviceId: optionalTextSchema(200),
  deviceType: textSchema(100),
  deviceModel: textSchema(100),
  system: textSchema(100),
  systemVersion: textSchema(100),
  timeZone: offsetSchema.nullish(),
})

export const deviceInformationAnswerSchema = z.strictObject({
  deviceInformationId: uuidSchema,
  sdkId: z.string(),
  sdkVersion: z.string(),
  appId: z.string(),
  appVersion: z.string().optional(),
  deviceId: z.string().optional(),
  deviceType: z.string(),
  deviceModel: z.string(),
  system: z.string(),
  systemVersion: z.string(),
  timeZone: z.string().optional(),
})

/** A profile has one record. Some older services leave out `deviceInformationId`. */
export const receivedDeviceInformationSchema = z.looseObject({
  deviceInformationId: z.string().optional().catch(undefined),
  sdkId: z.string().nullish(),
  sdkVersion: z.string().nullish(),
  appId: z.string().nullish(),
  deviceType: z.string().nullish(),
  deviceModel: z.string().nullish(),
  timeZone: z.string().nullish(),
})

export type DeviceInformationInput = z.infer<typeof deviceInformationInputSchema>
