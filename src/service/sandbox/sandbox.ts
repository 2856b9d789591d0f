import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { migrate } from '../../engines/migrate.ts'
import { Problem } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { DAY, MINUTE } from '../../window.ts'
import { type Extension, startService } from '../server.ts'
import type { Pool } from '../store/pool.ts'
import { findProfileId } from '../store/profiles.ts'
import { countDirtyDays } from '../store/samples.ts'
import { revokeTokens } from '../store/tokens.ts'
import { createClock, type MovableClock } from './clock.ts'
import { addControl, controlPath } from './control.ts'
import { createFaults, type Faults } from './faults/decisions.ts'
import { addFaultLine } from './faults/line.ts'
import type { Rule } from './faults/rules.ts'
import { createJournal, type Journal } from './journal.ts'
import { createLedgerReader, type Ledger } from './ledger.ts'
import { peopleOf } from './people/people.ts'
import { type Credentials, credentialsOf, seedAccount, seedPeople, storeLives } from './seeding.ts'

export type SandboxOptions = {
  /** A database whose schema `service` is the sandbox's to make and to change. */
  databaseUrl: string
  /** 0 takes a free one. */
  port: number
  host?: string
  profiles: number
  seed: string
  log: Log
  faults?: readonly Rule[]
  /** How many days of life the people have behind them. */
  days?: number
  /** The machine's time; the sandbox's clock starts from it. */
  machine?: () => number
}

export type Sandbox = Credentials & {
  url: string
  controlUrl: string
  clock: MovableClock
  faults: Faults
  journal: Journal
  /** Resolves when everything that follows from what was uploaded so far has been derived. */
  derived(): Promise<void>
  ledger(externalId: string): Promise<Ledger | undefined>
  live(byMs: number): Promise<{ logs: number }>
  close(): Promise<void>
}

export const defaultDays = 60
const migrations = new URL('../store/migrations/', import.meta.url)
const derivedTimeoutMs = 30 * MINUTE
const derivedPollMs = 50

/**
 * The Profile Service with people in it, faults on request and a clock that can be moved.
 *
 * Safe to start again on the same database: who is there stays as he is, who is missing is added, and the same seed
 * has the same credentials. Resolves when it answers and everybody's logs are stored; the derivation of a first start
 * goes on behind, and `derived()` waits for it.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { databaseUrl, seed, log } = options
  await migrate({ databaseUrl, folder: migrations, schema: 'service' })
  const clock = createClock(options.machine ?? Date.now)
  const faults = createFaults({ seed, rules: options.faults ?? [] })
  const journal = createJournal()
  const credentials = credentialsOf(seed)
  const own = randomBytes(16).toString('hex')
  const people = peopleOf(seed, options.profiles)
  const startedAtMs = clock.now()
  let livedUntilMs = startedAtMs
  let ledger: (externalId: string) => Promise<Ledger | undefined> = async () => undefined
  let accountId = ''

  const live = async (pool: Pool, byMs: number) => {
    clock.advance(byMs)
    const span = { startMs: livedUntilMs, endMs: clock.now() }
    livedUntilMs = span.endMs
    let logs = 0
    for (const person of people) {
      const profileId = await findProfileId(pool, { accountId, externalId: person.externalId })
      if (profileId === undefined) continue
      const stored = await storeLives(pool, { person, profileId, span })
      logs += stored
    }
    return { logs }
  }
  const revoke = async (pool: Pool, externalId: string | undefined) => {
    const now = new Date(clock.now())
    if (externalId === undefined) return revokeTokens(pool, { accountId, now })
    const profileId = await findProfileId(pool, { accountId, externalId })
    return profileId === undefined ? 0 : revokeTokens(pool, { profileId, now })
  }
  const playground: Extension = async ({ app, pool, identities }) => {
    accountId = await seedAccount(pool, credentials, new Date(clock.now()))
    const span = { startMs: startedAtMs - (options.days ?? defaultDays) * DAY, endMs: startedAtMs }
    const seeded = await seedPeople(pool, { accountId, people, span })
    if (seeded.people > 0) log.info(seeded, 'sample people stored')
    addFaultLine(app, { faults, journal, clock, own })
    ledger = createLedgerReader({ app, own, ...credentials })
    addControl(app, {
      clock,
      faults,
      journal,
      people: () => people.map(({ externalId, kind }) => ({ externalId, kind })),
      ledger,
      derived: () => untilDerived(pool),
      live: (byMs) => live(pool, byMs),
      revokeTokens: async (externalId) => {
        const revoked = await revoke(pool, externalId)
        identities.forget()
        return revoked
      },
    })
    return undefined
  }
  const service = await startService({
    databaseUrl,
    port: options.port,
    ...(options.host === undefined ? {} : { host: options.host }),
    log,
    clock: clock.now,
    extensions: [playground],
  })
  const { pool } = service.room
  return {
    ...credentials,
    url: service.url,
    controlUrl: service.url + controlPath,
    clock,
    faults,
    journal,
    derived: () => untilDerived(pool),
    ledger: (externalId) => ledger(externalId),
    live: (byMs) => live(pool, byMs),
    close: service.close,
  }
}

async function untilDerived(pool: Pool): Promise<void> {
  for (const deadlineAt = Date.now() + derivedTimeoutMs; Date.now() < deadlineAt; await wait(derivedPollMs)) {
    if ((await countDirtyDays(pool)) === 0) return
  }
  throw new Problem('wait for derived data: days are still due after half an hour', {
    hint: 'Look in the log for what the recomputation says.',
  })
}
