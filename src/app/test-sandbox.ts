import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CloseStack, openCloseStack } from '../base/close-stack.ts'
import { startPostgres } from '../base/engines/embedded-postgres.ts'
import { createLog } from '../base/log.ts'
import { parseFaultRule } from '../service/sandbox/faults/fault-rules.ts'
import { type Sandbox, startSandbox } from '../service/start-sandbox.ts'
import { sandboxDefaults } from './sandbox-defaults.ts'

export type SandboxForTestsOptions = {
  /** 0, and absent: any free port. */
  readonly port?: number
  /** How many sample people; 0: none. */
  readonly people?: number
  readonly days?: number
  readonly seed?: string
  /** As on the command line: `throttle=0.05`, see docs/how-to/sandbox.md. */
  readonly faults?: readonly string[]
  readonly databaseUrl?: string
  /** The time from which the sandbox's clock starts; the machine's own where absent. */
  readonly startAt?: Date
}

export type SandboxRequest = { readonly at: string; readonly operation: string; readonly outcome: string }

export type SandboxForTests = {
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
  readonly appId: string
  readonly appSecret: string
  /** The externalIds of the sample people. */
  people(): string[]
  readonly faults: {
    /** Replaces all faults. */
    set(...faults: string[]): void
    list(): Array<{ readonly name: string; readonly met: number }>
  }
  readonly clock: {
    now(): Date
    /** Moves the clock, and stores what the people's devices write meanwhile. */
    advance(byMs: number): Promise<void>
  }
  readonly journal: {
    /** How many requests came so far. */
    count(): number
    /** The newest requests, oldest first. */
    last(count: number): SandboxRequest[]
    clear(): void
  }
  /** Resolves when everything that was uploaded so far has been derived. */
  derived(): Promise<void>
  stop(): Promise<void>
}

/** See `startSandboxForTests`. */
export async function startTestSandbox(options: SandboxForTestsOptions): Promise<SandboxForTests> {
  const closeStack = openCloseStack()
  try {
    const databaseUrl = options.databaseUrl ?? (await startThrowAwayPostgres(closeStack))
    const { startAt } = options
    const offsetMs = startAt === undefined ? 0 : startAt.getTime() - Date.now()
    const sandbox = await startSandbox({
      databaseUrl,
      port: options.port ?? 0,
      profiles: options.people ?? sandboxDefaults.profiles,
      days: options.days ?? sandboxDefaults.days,
      seed: options.seed ?? sandboxDefaults.seed,
      faults: (options.faults ?? []).map(parseFaultRule),
      log: createLog({ level: 'silent' }),
      machine: () => Date.now() + offsetMs,
    })
    closeStack.add(sandbox, 'sandbox')
    return { ...controlsOf(sandbox), stop: () => closeStack.close() }
  } catch (error) {
    await closeStack.close()
    throw error
  }
}

function controlsOf(sandbox: Sandbox): Omit<SandboxForTests, 'stop'> {
  const { url, clientId, clientSecret, appId, appSecret, faults, journal, clock } = sandbox
  return {
    ...{ url, clientId, clientSecret, appId, appSecret },
    people: () => sandbox.people().map(({ externalId }) => externalId),
    faults: {
      set: (...rules) => faults.set(rules.map(parseFaultRule)),
      list: () => faults.list().map(({ name, met }) => ({ name, met })),
    },
    clock: {
      now: () => new Date(clock.nowMs()),
      advance: async (byMs) => void (await sandbox.live(byMs)),
    },
    journal: {
      count: () => journal.read().requests,
      last: (count) => journal.last(count).map(({ at, operation, outcome }) => ({ at, operation, outcome })),
      clear: () => journal.clear(),
    },
    derived: () => sandbox.derived(),
  }
}

async function startThrowAwayPostgres(closeStack: CloseStack): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-sandbox-'))
  await chmod(folder, 0o755) // as root, the server runs as nobody and must be able to enter
  closeStack.add({ close: () => rm(folder, { recursive: true, force: true }) }, 'folder')
  const postgres = closeStack.add(await startPostgres({ folder, throwAway: true, connectionsMax: 50 }), 'Postgres')
  return postgres.adminUrl('postgres')
}
