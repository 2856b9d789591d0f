import {
  type DemographicAnswer,
  type DemographicInput,
  demographicAnswerSchema,
  demographicInputSchema,
} from '../../contract/demographic.ts'
import {
  type DeviceInformationAnswer,
  deviceInformationAnswerSchema,
  deviceInformationInputSchema,
} from '../../contract/device-information.ts'
import { unauthorized } from '../refusal.ts'
import { type Answer, type Call, defineRoute } from '../route.ts'
import {
  type Demographics,
  readDemographics,
  readDevice,
  type StoredDevice,
  writeDemographics,
  writeDevice,
} from '../store/metadata.ts'

const demographic = defineRoute({
  operation: 'demographic',
  summary: 'Get demographics',
  answers: { 200: demographicAnswerSchema, 204: null },
  async run({ room, profileId }) {
    const found = await readDemographics(room.pool, profileId)
    return found ? { status: 200, json: demographicAnswer(found) } : { status: 204 }
  },
})

const replaceDemographic = defineRoute({
  operation: 'replaceDemographic',
  summary: 'Replace demographics: what is absent is cleared',
  body: demographicInputSchema,
  answers: { 200: demographicAnswerSchema },
  writes: true,
  run: (call) => change(call, 'replace'),
})

const updateDemographic = defineRoute({
  operation: 'updateDemographic',
  summary: 'Update demographics: what is absent stays, null clears',
  body: demographicInputSchema,
  answers: { 200: demographicAnswerSchema },
  writes: true,
  run: (call) => change(call, 'update'),
})

const deviceInformation = defineRoute({
  operation: 'deviceInformation',
  summary: 'Get device information',
  answers: { 200: deviceInformationAnswerSchema, 204: null },
  async run({ room, profileId }) {
    const found = await readDevice(room.pool, profileId)
    return found ? { status: 200, json: deviceAnswer(found) } : { status: 204 }
  },
})

const updateDeviceInformation = defineRoute({
  operation: 'updateDeviceInformation',
  summary: 'Update device information',
  body: deviceInformationInputSchema,
  answers: { 200: deviceInformationAnswerSchema },
  writes: true,
  async run({ room, profileId, body }) {
    const stored = await writeDevice(room.pool, { profileId, fields: body, now: new Date(room.clock()) })
    if (!stored) throw unauthorized()
    return { status: 200, json: deviceAnswer(stored) }
  },
})

async function change(call: Call<DemographicInput, unknown>, mode: 'replace' | 'update'): Promise<Answer> {
  const { room, profileId, body } = call
  const stored = await writeDemographics(room.pool, { profileId, fields: body, mode, now: new Date(room.clock()) })
  if (!stored) throw unauthorized()
  return { status: 200, json: demographicAnswer(stored) }
}

/** Every field, null where unknown: a reader sees what there could be. */
function demographicAnswer(fields: Demographics): DemographicAnswer {
  return {
    age: fields.age ?? null,
    gender: fields.gender ?? null,
    birthDate: fields.birthDate ?? null,
    country: fields.country ?? null,
    birthCountry: fields.birthCountry ?? null,
    ethnicity: fields.ethnicity ?? null,
    occupation: fields.occupation ?? null,
    industry: fields.industry ?? null,
    incomeRange: fields.incomeRange ?? null,
    education: fields.education ?? null,
    relationship: fields.relationship ?? null,
    locale: fields.locale ?? null,
    livingArrangement: fields.livingArrangement ?? null,
  }
}

function deviceAnswer({ id, fields }: StoredDevice): DeviceInformationAnswer {
  const { appVersion, deviceId, timeZone, ...required } = fields
  return {
    deviceInformationId: id,
    ...required,
    ...(appVersion == null ? {} : { appVersion }),
    ...(deviceId == null ? {} : { deviceId }),
    ...(timeZone == null ? {} : { timeZone }),
  }
}

export const metadataRoutes = [
  demographic,
  replaceDemographic,
  updateDemographic,
  deviceInformation,
  updateDeviceInformation,
]
