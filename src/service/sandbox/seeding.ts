import type { SandboxCredentials } from '../../base/contract/sandbox-credentials.ts'
import { namedUuid } from '../../base/text/digest.ts'
import type { Span } from '../../base/time/spans.ts'
import { ensureAccount } from '../store/credentials/api-keys.ts'
import { storeDataLogs } from '../store/data-logs.ts'
import { writeDemographics, writeDeviceInformation } from '../store/profile-metadata.ts'
import { storeTags } from '../store/profile-tags.ts'
import { ensureApiKey, listSampleProfiles } from '../store/sample-profiles.ts'
import type { ServicePool } from '../store/service-pool.ts'
import { createProfile, findProfileId } from '../store/service-profiles.ts'
import { deviceInformationOf, logsOf, sampleDemographicsOf, tagsOf } from './people/sample-people.ts'
import type { SamplePerson } from './people/sample-person.ts'

/** How many people and logs are stored so far. */
export type SeedProgress = { people: number; total: number; logs: number }

const logsPerUpload = 5000
/** Enough to keep a database of two cores busy while the logs of the next person are generated. */
const concurrentPeopleMax = 3
const accountNamespace = '5b6c1f0a-93d7-5c0e-8f4e-2a7d6c9b1e30'
const profileNamespace = '8a0f3f0e-2f2b-5f57-9b6d-5d0f3c7a1e44'

type SeededAccount = { readonly seed: string; readonly credentials: SandboxCredentials; readonly nowAt: Date }

/** Creates the account of a seed and its keys unless they exist. Two seeds in one database are two accounts. */
export async function seedAccount(pool: ServicePool, { seed, credentials, nowAt }: SeededAccount): Promise<string> {
  const accountId = await ensureAccount(pool, {
    name: `sandbox ${seed}`,
    nowAt,
    accountId: namedUuid(accountNamespace, [seed]),
  })
  const { clientId, clientSecret, appId, appSecret } = credentials
  const key = { accountId, label: 'sandbox', nowAt }
  await ensureApiKey(pool, { ...key, kind: 'client', publicId: clientId, secret: clientSecret })
  await ensureApiKey(pool, { ...key, kind: 'app', publicId: appId, secret: appSecret })
  return accountId
}

/**
 * Stores the people that are missing, each with all of their data in the span, a few people at a time. A person counts as
 * stored only when all of their data is: a person whom a killed start left incomplete is stored again, with the same ids.
 */
export async function seedPeople(
  pool: ServicePool,
  seeding: {
    accountId: string
    people: readonly SamplePerson[]
    span: Span
    signal: AbortSignal | undefined
    onProgress?: ((stored: SeedProgress) => void) | undefined
    /** Called when all data of a person is stored. */
    onStored?: (profileId: string) => void
  },
): Promise<void> {
  const waiting = [...(await missingPeople(pool, seeding))]
  const total = waiting.length
  let people = 0
  let logs = 0
  const seedNext = async () => {
    for (let person = waiting.shift(); person; person = waiting.shift()) {
      seeding.signal?.throwIfAborted()
      const { profileId, logs: personLogs } = await seedPerson(pool, { ...seeding, person })
      seeding.onStored?.(profileId)
      logs += personLogs
      people += 1
      seeding.onProgress?.({ people, total, logs })
    }
  }
  await Promise.all(Array.from({ length: concurrentPeopleMax }, seedNext))
}

async function missingPeople(
  pool: ServicePool,
  { accountId, people }: { accountId: string; people: readonly SamplePerson[] },
): Promise<SamplePerson[]> {
  const profiles = await listSampleProfiles(pool, accountId)
  const byExternalId = new Map(profiles.map((profile) => [profile.externalId, profile]))
  return people.filter((person) => {
    const profile = byExternalId.get(person.externalId)
    return profile === undefined || !(profile.isComplete || person.kind === 'newcomer')
  })
}

async function seedPerson(
  pool: ServicePool,
  { person, accountId, span }: { person: SamplePerson; accountId: string; span: Span },
): Promise<{ profileId: string; logs: number }> {
  const { externalId } = person
  const createdAt = new Date(span.startMs)
  await createProfile(pool, {
    accountId,
    externalId,
    nowAt: createdAt,
    isSample: true,
    profileId: namedUuid(profileNamespace, [accountId, externalId]),
  })
  const profileId = await findProfileId(pool, { accountId, externalId })
  if (profileId === undefined) throw new Error('seed person: the profile was deleted just after it was created')
  const nowAt = new Date(span.endMs)
  const fields = sampleDemographicsOf(person, span.endMs)
  if (fields) await writeDemographics(pool, { profileId, fields, mode: 'replace', nowAt })
  const tags = tagsOf(person, span)
  if (tags.length > 0) await storeTags(pool, { profileId, tags, nowAt })
  const logs = await storeDeviceLogs(pool, { person, profileId, span })
  const device = deviceInformationOf(person, span.endMs)
  if (device) await writeDeviceInformation(pool, { profileId, fields: device, nowAt }) // last, because its presence marks the person as complete
  return { profileId, logs }
}

/** Stores the logs that a person's devices wrote in a span, as uploads at the end of the span. */
export async function storeDeviceLogs(
  pool: ServicePool,
  { person, profileId, span }: { person: SamplePerson; profileId: string; span: Span },
): Promise<number> {
  const logs = logsOf(person, span)
  const nowAt = new Date(span.endMs)
  for (let first = 0; first < logs.length; first += logsPerUpload)
    await storeDataLogs(pool, { profileId, logs: logs.slice(first, first + logsPerUpload), nowAt })
  return logs.length
}
