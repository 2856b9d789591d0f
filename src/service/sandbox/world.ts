import { setTimeout as wait } from 'node:timers/promises'
import { Problem } from '../../errors.ts'
import { MINUTE } from '../../window.ts'
import type { Recompute } from '../recompute/recompute.ts'
import type { Room } from '../route.ts'
import { findProfileId } from '../store/profiles.ts'
import { countDirtyDays, findExternalId } from '../store/samples.ts'
import { revokeTokens } from '../store/tokens.ts'
import type { MovableClock } from './clock.ts'
import type { Faults } from './faults/decisions.ts'
import type { Journal } from './journal.ts'
import type { Ledger } from './ledger.ts'
import type { Person } from './people/person.ts'
import { storeLives } from './seeding.ts'

/** What can be done to a running sandbox, in process and through its control routes. */
export type World = {
  clock: MovableClock
  faults: Faults
  journal: Journal
  people(): Array<{ externalId: string; kind: string }>
  /** Everything that is served of a profile now; undefined when there is no such profile. */
  ledger(externalId: string): Promise<Ledger | undefined>
  /** The account's own name of a profile. */
  nameOf(profileId: string): Promise<string | undefined>
  /** Resolves when everything that follows from what was uploaded so far has been derived; tells what is left meanwhile. */
  derived(onLeft?: (days: number) => void): Promise<void>
  /** Moves the clock on, and stores what the sample people's devices write meanwhile. */
  live(byMs: number): Promise<{ logs: number }>
  /** Takes the tokens that were issued so far, of the whole account or of one profile. */
  revokeTokens(externalId: string | undefined): Promise<number>
}

type Parts = Pick<World, 'clock' | 'faults' | 'journal' | 'ledger'> & {
  room: Pick<Room, 'pool' | 'identities'>
  lives: { accountId: string; people: readonly Person[]; livedUntilMs: number }
  recompute: Pick<Recompute, 'idle'> | undefined
  closing: AbortSignal
}

const namesMax = 100_000
const derivedTimeoutMs = 30 * MINUTE
const derivedPollMs = 50
const reportEveryMs = 250

export function createWorld({ clock, faults, journal, ledger, room, lives, recompute, closing }: Parts): World {
  const { pool, identities } = room
  const { accountId, people } = lives
  let livedUntilMs = lives.livedUntilMs
  const profileIdOf = (externalId: string) => findProfileId(pool, { accountId, externalId })
  const names = new Map<string, string>()
  return {
    clock,
    faults,
    journal,
    ledger,
    nameOf: async (profileId) => {
      const name = names.get(profileId) ?? (await findExternalId(pool, profileId))
      if (names.size >= namesMax) names.clear()
      if (name !== undefined) names.set(profileId, name)
      return name
    },
    people: () => people.map(({ externalId, kind }) => ({ externalId, kind })),
    derived: async (onLeft) => {
      for (const deadlineAt = Date.now() + derivedTimeoutMs; Date.now() < deadlineAt; await wait(derivedPollMs)) {
        if (closing.aborted) throw new Problem('wait for derived data: the sandbox was closed meanwhile')
        const idle = recompute?.idle().then(() => true) ?? true
        while (onLeft && !(await Promise.race([idle, wait(reportEveryMs, false)]))) onLeft(await countDirtyDays(pool))
        await idle
        if ((await countDirtyDays(pool)) === 0) return
      }
      throw new Problem('wait for derived data: days are still due after half an hour', {
        hint: 'Look in the log for what the recomputation says.',
      })
    },
    live: async (byMs) => {
      clock.advance(byMs)
      const span = { startMs: livedUntilMs, endMs: clock.now() }
      livedUntilMs = span.endMs
      let logs = 0
      for (const person of people) {
        const profileId = await profileIdOf(person.externalId)
        if (profileId === undefined) continue
        const stored = await storeLives(pool, { person, profileId, span })
        logs += stored
      }
      return { logs }
    },
    revokeTokens: async (externalId) => {
      const now = new Date(clock.now())
      const profileId = externalId === undefined ? undefined : await profileIdOf(externalId)
      if (externalId !== undefined && profileId === undefined) return 0
      const revoked = await revokeTokens(pool, profileId === undefined ? { accountId, now } : { profileId, now })
      identities.forget()
      return revoked
    },
  }
}
