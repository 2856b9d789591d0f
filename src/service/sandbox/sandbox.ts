import { randomBytes } from 'node:crypto'
import { migrate } from '../../engines/migrate.ts'
import type { Log } from '../../log.ts'
import { DAY } from '../../window.ts'
import { explaining } from '../recompute/extension.ts'
import { startRecompute } from '../recompute/recompute.ts'
import { type Extension, startService } from '../server.ts'
import { createClock } from './clock.ts'
import { addControl, controlPath } from './control.ts'
import { createFaults } from './faults/decisions.ts'
import { addFaultLine } from './faults/line.ts'
import type { Rule } from './faults/rules.ts'
import { createJournal } from './journal.ts'
import { createLedgerReader } from './ledger.ts'
import { peopleOf } from './people/people.ts'
import { type Credentials, credentialsOf, type Stored, seedAccount, seedPeople } from './seeding.ts'
import { createWorld, type World } from './world.ts'

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
  /** Aborted: people who are not stored yet are left to the next start, and this one fails. */
  signal?: AbortSignal
  /** Told after each person who is stored. */
  onProgress?: (stored: Stored) => void
  /** False leaves the derivation to another process on the same database. */
  derives?: boolean
  /** The machine's time; the sandbox's clock starts from it. */
  machine?: () => number
}

export type Sandbox = Credentials &
  Pick<World, 'clock' | 'faults' | 'journal' | 'derived' | 'ledger' | 'live'> & {
    url: string
    controlUrl: string
    close(): Promise<void>
  }

export const defaultDays = 60
const migrations = new URL('../store/migrations/', import.meta.url)

/**
 * The Profile Service with people in it, faults on request and a clock that can be moved.
 *
 * Safe to start again on the same database: who is there stays as he is, who is missing is added, and the same seed
 * has the same credentials. Resolves when it answers and everybody's logs are stored; the derivation of a first start
 * goes on behind, and `derived()` waits for it.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { databaseUrl, seed, log, onProgress } = options
  await migrate({ databaseUrl, folder: migrations, schema: 'service' })
  const clock = createClock(options.machine ?? Date.now)
  const faults = createFaults({ seed, rules: options.faults ?? [] })
  const journal = createJournal()
  const people = peopleOf(seed, options.profiles)
  const closing = new AbortController()
  const own = randomBytes(16).toString('hex')
  const made = Promise.withResolvers<World>()
  const playground: Extension = async (room) => {
    const span = { startMs: clock.now() - (options.days ?? defaultDays) * DAY, endMs: clock.now() }
    const accountId = await seedAccount(room.pool, seed, new Date(span.endMs))
    const seeded = await seedPeople(room.pool, { accountId, people, span, signal: options.signal, onProgress })
    if (seeded.people > 0) log.info(seeded, 'sample people stored')
    // Only now: people who are still being stored would be derived over and over.
    const recompute = options.derives === false ? undefined : await startRecompute({ ...room, log })
    const ledger = createLedgerReader({ app: room.app, own, ...credentialsOf(seed) })
    const lives = { accountId, people, livedUntilMs: span.endMs }
    const world = createWorld({ room, clock, faults, journal, ledger, lives, recompute, closing: closing.signal })
    await explaining(room)
    addFaultLine(room.app, { faults, journal, clock, own, nameOf: world.nameOf })
    addControl(room.app, world)
    made.resolve(world)
    return recompute
  }
  const service = await startService({
    databaseUrl,
    port: options.port,
    ...(options.host === undefined ? {} : { host: options.host }),
    log,
    clock: clock.now,
    extensions: [playground],
  })
  const close = async () => {
    closing.abort()
    await service.close()
  }
  const { derived, ledger, live } = await made.promise
  const { url } = service
  return {
    ...credentialsOf(seed),
    url,
    controlUrl: url + controlPath,
    clock,
    faults,
    journal,
    derived,
    ledger,
    live,
    close,
  }
}
