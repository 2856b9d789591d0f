import { LRUCache } from 'lru-cache'
import { Problem } from '../../base/errors.ts'
import { endsWithin, sleep } from '../../base/sleep.ts'
import type { Span } from '../../base/time/spans.ts'
import { DAY, MINUTE } from '../../base/time/units.ts'
import { createConcurrencyLimiter } from '../http/concurrency-limiter.ts'
import type { ServiceContext } from '../http/context.ts'
import type { Recompute } from '../recompute/start-recompute.ts'
import { revokeTokens } from '../store/credentials/issued-tokens.ts'
import { countDirtyDays, findExternalId, listSampleProfiles } from '../store/sample-profiles.ts'
import type { ServicePool } from '../store/service-pool.ts'
import { findProfileId } from '../store/service-profiles.ts'
import type { DerivationDelay } from './derivation-delay.ts'
import type { FaultSelector } from './faults/fault-selector.ts'
import type { Journal } from './faults/journal.ts'
import type { MovableClock } from './faults/movable-clock.ts'
import type { PersonKind } from './people/day-plans.ts'
import { createSamplePerson, personKinds, type SamplePerson } from './people/sample-person.ts'
import { seedPeople, storeDeviceLogs } from './seeding.ts'
import type { createServedRecordsReader } from './served-records.ts'

/** Controls a running sandbox, in process and through its control routes. */
export type SandboxControl = ReturnType<typeof createSandboxControl>

type SandboxControlOptions = {
  clock: MovableClock
  faults: FaultSelector
  journal: Journal
  derivationDelay: Pick<DerivationDelay, 'set' | 'clear' | 'read'>
  /** All records that the service serves of a profile now; undefined when no such profile exists. */
  ledger: ReturnType<typeof createServedRecordsReader>
  context: Pick<ServiceContext, 'pool' | 'tokenCache'>
  seeded: {
    accountId: string
    seed: string
    days: number
    people: readonly SamplePerson[]
    /** The names of all sample profiles that the database has. */
    sampleNames: readonly string[]
    livedUntilMs: number
  }
  recompute: Pick<Recompute, 'idle'> | undefined
  closing: AbortSignal
}

const externalIdsMax = 100_000
const derivedTimeoutMs = 30 * MINUTE
const derivedPollMs = 50
const reportEveryMs = 250

export function createSandboxControl(options: SandboxControlOptions) {
  const { clock, faults, journal, derivationDelay, ledger, context, seeded, recompute, closing } = options
  const { pool, tokenCache } = context
  const { accountId, seed } = seeded
  const people = [...seeded.people]
  const samples = new Set(seeded.sampleNames)
  // One after another: people who are made while the others live would miss what the devices write meanwhile.
  const turns = createConcurrencyLimiter({ concurrentMax: 1 })
  let livedUntilMs = seeded.livedUntilMs
  const profileIdOf = (externalId: string) => findProfileId(pool, { accountId, externalId })
  const externalIds = new LRUCache<string, string>({ max: externalIdsMax })
  return {
    clock,
    faults,
    journal,
    derivationDelay,
    ledger,
    /** The account's name for a profile. */
    externalIdOf: async (profileId: string) => {
      const externalId = externalIds.get(profileId) ?? (await findExternalId(pool, profileId))
      if (externalId !== undefined) externalIds.set(profileId, externalId)
      return externalId
    },
    people: () => people.map(({ externalId, kind }) => ({ externalId, kind })),
    /** Whether a name is that of a sample profile, of this start or of one before. */
    isSample: (externalId: string) => samples.has(externalId),
    /** Resolves when the derivation has caught up with every upload so far; meanwhile reports the days that are left. */
    derived: (onLeft?: (days: number) => void) => waitUntilDerived({ pool, recompute, closing, onLeft }),
    /** Moves the clock forward, and stores the logs that the sample people's devices write meanwhile. */
    live: (byMs: number) =>
      turns.run(accountId, async () => {
        clock.advance(byMs)
        const span = { startMs: livedUntilMs, endMs: clock.nowMs() }
        livedUntilMs = span.endMs
        let logs = 0
        for (const person of people) {
          const profileId = await profileIdOf(person.externalId)
          if (profileId === undefined) continue
          const stored = await storeDeviceLogs(pool, { person, profileId, span })
          logs += stored
        }
        return { logs }
      }),
    /** Adds people of a kind, with as many days of data as the others, and returns their externalIds. */
    makePeople: (kind: PersonKind, count: number) =>
      turns.run(accountId, async () => {
        const span = { startMs: livedUntilMs - seeded.days * DAY, endMs: livedUntilMs }
        const made = await makePeople(pool, { accountId, seed, kind, count, span, signal: closing })
        people.push(...made)
        for (const { externalId } of made) samples.add(externalId)
        return made.map(({ externalId }) => externalId)
      }),
    /** Revokes the tokens that were issued so far, of the whole account or of one profile. Returns how many. */
    revokeTokens: async (externalId: string | undefined) => {
      const nowAt = new Date(clock.nowMs())
      const profileId = externalId === undefined ? undefined : await profileIdOf(externalId)
      if (externalId !== undefined && profileId === undefined) return 0
      const revoked = await revokeTokens(pool, profileId === undefined ? { accountId } : { profileId }, nowAt)
      tokenCache.clear()
      return revoked
    },
  }
}

type DerivedWait = Pick<SandboxControlOptions, 'recompute' | 'closing'> & {
  pool: ServicePool
  onLeft: ((days: number) => void) | undefined
}

async function waitUntilDerived({ pool, recompute, closing, onLeft }: DerivedWait): Promise<void> {
  for (const deadlineMs = Date.now() + derivedTimeoutMs; Date.now() < deadlineMs; await sleep(derivedPollMs)) {
    if (closing.aborted) throw new Problem('wait for derived data: the sandbox was closed meanwhile')
    const idle = recompute?.idle() ?? Promise.resolve()
    while (onLeft && !(await endsWithin(idle, reportEveryMs))) onLeft(await countDirtyDays(pool))
    await idle
    if ((await countDirtyDays(pool)) === 0) return
  }
  throw new Problem('wait for derived data: days are still due after half an hour', {
    hint: 'Look in the log for the messages of the recomputation.',
  })
}

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
async function makePeople(pool: ServicePool, making: MakePeople): Promise<SamplePerson[]> {
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
