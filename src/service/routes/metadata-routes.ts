import {
  type DemographicInput,
  demographicAnswerSchema,
  demographicInputSchema,
} from '../../base/contract/demographic.ts'
import { deviceInformationAnswerSchema, deviceInformationInputSchema } from '../../base/contract/device-information.ts'
import { operations } from '../../base/contract/operations.ts'
import type { RouteAnswer } from '../../web/route.ts'
import { unauthorized } from '../http/request-error.ts'
import { defineRoute, type RouteCall } from '../http/service-route.ts'
import {
  readDemographics,
  readDeviceInformation,
  type StoredDemographics,
  type StoredDeviceInformation,
  writeDemographics,
  writeDeviceInformation,
} from '../store/profile-metadata.ts'

const demographic = defineRoute({
  ...operations.demographic,
  summary: 'Get demographics',
  answers: { 200: demographicAnswerSchema, 204: null },
  async run({ context, profileId }) {
    const found = await readDemographics(context.reads, profileId)
    return found ? { status: 200, json: demographicAnswer(found) } : { status: 204 }
  },
})

const replaceDemographic = defineRoute({
  ...operations.replaceDemographic,
  summary: 'Replace demographics: an absent field is cleared',
  body: demographicInputSchema,
  answers: { 200: demographicAnswerSchema },
  writes: true,
  run: (call) => changeDemographics(call, 'replace'),
})

const updateDemographic = defineRoute({
  ...operations.updateDemographic,
  summary: 'Update demographics: an absent field stays, null clears it',
  body: demographicInputSchema,
  answers: { 200: demographicAnswerSchema },
  writes: true,
  run: (call) => changeDemographics(call, 'update'),
})

const deviceInformation = defineRoute({
  ...operations.deviceInformation,
  summary: 'Get device information',
  answers: { 200: deviceInformationAnswerSchema, 204: null },
  async run({ context, profileId }) {
    const found = await readDeviceInformation(context.reads, profileId)
    return found ? { status: 200, json: deviceInformationAnswer(found) } : { status: 204 }
  },
})

const updateDeviceInformation = defineRoute({
  ...operations.updateDeviceInformation,
  summary: 'Update device information',
  body: deviceInformationInputSchema,
  answers: { 200: deviceInformationAnswerSchema },
  writes: true,
  async run({ context, profileId, body }) {
    const stored = await writeDeviceInformation(context.pool, {
      profileId,
      fields: body,
      nowAt: new Date(context.clock()),
    })
    if (!stored) throw unauthorized()
    return { status: 200, json: deviceInformationAnswer(stored) }
  },
})

async function changeDemographics(
  call: RouteCall<DemographicInput, unknown>,
  mode: 'replace' | 'update',
): Promise<RouteAnswer> {
  const { context, profileId, body } = call
  const stored = await writeDemographics(context.pool, {
    profileId,
    fields: body,
    mode,
    nowAt: new Date(context.clock()),
  })
  if (!stored) throw unauthorized()
  return { status: 200, json: demographicAnswer(stored) }
}

const demographicFields = demographicAnswerSchema.keyof().options

/** Every field, null where unknown, so that a reader sees which fields exist. */
const demographicAnswer = (fields: StoredDemographics): object =>
  Object.fromEntries(demographicFields.map((name) => [name, fields[name] ?? null]))

const deviceInformationAnswer = ({ id, fields }: StoredDeviceInformation): object => ({
  deviceInformationId: id,
  ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value != null)),
})

export const metadataRoutes = [
  demographic,
  replaceDemographic,
  updateDemographic,
  deviceInformation,
  updateDeviceInformation,
]
