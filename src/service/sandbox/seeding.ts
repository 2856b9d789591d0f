import { createHash, createHmac } from 'node:crypto'
import { namedUuid } from '../../named-uuid.ts'
import { ensureAccount } from '../store/keys.ts'
import { storeLogs } from '../store/logs.ts'
import { writeDemographics, writeDevice } from '../store/metadata.ts'
import type { Pool } from '../store/pool.ts'
import { createProfile, findProfileId } from '../store/profiles.ts'
import { keepKey, listSamples } from '../store/samples.ts'
import { storeTags } from '../store/tags.ts'
import { demographicsOf, deviceInformationOf, logsOf, type Span, tagsOf } from './people/people.ts'
import type { Person } from './people/person.ts'

/** What opens the sandbox's account. They follow from the seed, so that a restart, or a second machine, has the same. */
export type Credentials = { clientId: string; clientSecret: string; appId: string; appSecret: string }

/** How far the storing of people has come. */
export type Stored = { people: number; of: number; logs: number }

const logsPerStatement = 5000
/** Enough to keep a database of two cores busy while the next person is thought up. */
const peopleAtOnce = 3
const profileNamespace = '8a0f3f0e-2f2b-5f57-9b6d-5d0f3c7a1e44'

export function credentialsOf(seed: string): Credentials {
  const word = (name: string) => createHmac('sha256', `vitalsync sandbox ${seed}`).update(name).digest('base64url')
  const id = (name: string) => `sandbox-${createHash('sha256').update(word(name)).digest('hex').slice(0, 12)}`
  return {
    clientId: id('clientId'),
    clientSecret: word('clientSecret'),
    appId: id('appId'),
    appSecret: word('appSecret'),
  }
}

/** Makes the account of a seed and its keys where they are missing: two seeds in one database are two worlds. */
export async function seedAccount(pool: Pool, seed: string, now: Date): Promise<string> {
  const accountId = await ensureAccount(pool, { name: `sandbox ${seed}`, now })
  const { clientId, clientSecret, appId, appSecret } = credentialsOf(seed)
  const label = 'sandbox'
  await keepKey(pool, { accountId, kind: 'client', publicId: clientId, secret: clientSecret, label, now })
  await keepKey(pool, { accountId, kind: 'app', publicId: appId, secret: appSecret, label, now })
  return accountId
}

/**
 * Brings people into the database who are not there yet, each with everything of the span, some at a time. A person
 * counts as there only when all of it was stored: what a killed start left half done is stored again, to the same ids.
 */
export async function seedPeople(
  pool: Pool,
  world: {
    accountId: string
    people: readonly Person[]
    span: Span
    signal: AbortSignal | undefined
    onProgress?: ((stored: Stored) => void) | undefined
  },
): Promise<{ people: number; logs: number }> {
  const waiting = [...(await notYetThere(pool, world))]
  const total = { people: waiting.length, logs: 0 }
  let stored = 0
  const seedNext = async () => {
    for (let person = waiting.shift(); person; person = waiting.shift()) {
      world.signal?.throwIfAborted()
      const logs = await seedPerson(pool, { ...world, person })
      total.logs += logs
      stored += 1
      world.onProgress?.({ people: stored, of: total.people, logs: total.logs })
    }
  }
  await Promise.all(Array.from({ length: peopleAtOnce }, seedNext))
  return total
}

async function notYetThere(pool: Pool, world: { accountId: string; people: readonly Person[] }): Promise<Person[]> {
  const samples = new Map((await listSamples(pool, world.accountId)).map((sample) => [sample.externalId, sample]))
  return world.people.filter((person) => {
    const sample = samples.get(person.externalId)
    return sample === undefined || !(sample.isWhole || person.kind === 'newcomer')
  })
}

async function seedPerson(
  pool: Pool,
  { person, accountId, span }: { person: Person; accountId: string; span: Span },
): Promise<number> {
  const { externalId } = person
  const created = new Date(span.startMs)
  await createProfile(pool, {
    accountId,
    externalId,
    now: created,
    isSample: true,
    profileId: namedUuid(profileNamespace, [accountId, externalId]),
  })
  const profileId = await findProfileId(pool, { accountId, externalId })
  if (profileId === undefined) throw new Error('seed person: the profile was removed while it was made')
  const now = new Date(span.endMs)
  const fields = demographicsOf(person, span.endMs)
  if (fields) await writeDemographics(pool, { profileId, fields, mode: 'replace', now })
  const tags = tagsOf(person, span)
  if (tags.length > 0) await storeTags(pool, { profileId, tags, now })
  const logs = await storeLives(pool, { person, profileId, span })
  const device = deviceInformationOf(person, span.endMs)
  if (device) await writeDevice(pool, { profileId, fields: device, now }) // last: it says that all else is there
  return logs
}

/** Stores what a person's devices wrote in a span, as uploads at its end. */
export async function storeLives(
  pool: Pool,
  { person, profileId, span }: { person: Person; profileId: string; span: Span },
): Promise<number> {
  const logs = logsOf(person, span)
  const now = new Date(span.endMs)
  for (let first = 0; first < logs.length; first += logsPerStatement)
    await storeLogs(pool, { profileId, logs: logs.slice(first, first + logsPerStatement), now })
  return logs.length
}
