import { Problem } from '../../base/errors.ts'
import type { Span } from '../../base/time/spans.ts'
import { listSampleProfiles } from '../store/sample-profiles.ts'
import type { ServicePool } from '../store/service-pool.ts'
import type { PersonKind } from './people/day-plans.ts'
import { createSamplePerson, personKinds, type SamplePerson } from './people/sample-person.ts'
import { seedPeople } from './seeding.ts'

type MakePeople = {
  readonly accountId: string
  readonly seed: string
  readonly kind: PersonKind
  readonly count: number
  readonly span: Span
  readonly signal: AbortSignal
}

const TURNS_MAX = 100_000

/** Stores the next people of a kind whose names are free, with all of their data in the span. */
export async function makePeople(pool: ServicePool, making: MakePeople): Promise<SamplePerson[]> {
  const { accountId, seed, kind, count } = making
  const taken = new Set((await listSampleProfiles(pool, accountId)).map(({ externalId }) => externalId))
  const people: SamplePerson[] = []
  for (let turn = 0; people.length < count; turn += 1) {
    if (turn >= TURNS_MAX) throw new Problem(`make people: there are ${TURNS_MAX} of the kind ${kind} already`)
    const person = createSamplePerson(seed, personKinds.indexOf(kind) + turn * personKinds.length)
    if (!taken.has(person.externalId)) people.push(person)
  }
  await seedPeople(pool, { ...making, people })
  return people
}
