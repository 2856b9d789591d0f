import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type SandboxCredentials, sandboxCredentialsOf } from '../base/contract/sandbox-credentials.ts'
import type { Log } from '../base/log.ts'
import type { OtlpExport } from '../base/monitoring/start-otlp.ts'
import { hostNameOf, isLoopback } from '../base/text/readable.ts'
import { DAY } from '../base/time/units.ts'
import { jsonContentType } from '../web/route.ts'
import { type ConsoleOptions, consoleExtension, consolePath } from './console/console-extension.ts'
import { RequestError } from './http/request-error.ts'
import type { ServiceAddition, ServiceExtension } from './http/service-route.ts'
import { explainRoute } from './recompute/extension.ts'
import { startRecompute } from './recompute/start-recompute.ts'
import { addControlRoutes, controlPath } from './sandbox/control-routes.ts'
import { createDerivationDelay, type DerivationDelay } from './sandbox/derivation-delay.ts'
import { addFaultInjection } from './sandbox/faults/fault-injection.ts'
import type { FaultRule } from './sandbox/faults/fault-rules.ts'
import { createFaultSelector } from './sandbox/faults/fault-selector.ts'
import { createJournal } from './sandbox/faults/journal.ts'
import { createMovableClock } from './sandbox/faults/movable-clock.ts'
import { samplePeople } from './sandbox/people/sample-people.ts'
import { createSandboxControl, type SandboxControl } from './sandbox/sandbox-control.ts'
import { type SeedProgress, seedAccount, seedPeople } from './sandbox/seeding.ts'
import { createServedRecordsReader } from './sandbox/served-records.ts'
import { startService } from './server.ts'
import { migrateService } from './store/migrate-service.ts'
import { listSampleProfiles } from './store/sample-profiles.ts'

export type SandboxOptions = {
  /** A database whose schema `service` the sandbox creates and migrates. */
  databaseUrl: string
  /** 0 takes a free port; of several, the first that can be had. */
  port: number | readonly number[]
  host?: string
  /** The names by which the sandbox may be asked, beside those of this machine. */
  names?: readonly string[]
  profiles: number
  seed: string
  /** The keys follow from it. Absent: each start has keys of its own. */
  secret?: string
  log: Log
  faults?: readonly FaultRule[]
  /** How many days of logs the people have at the first start. */
  days: number
  /** Aborted: this start fails, and the next start stores the people that are missing. */
  signal?: AbortSignal
  /** Called after each person is stored. */
  onProgress?: (stored: SeedProgress) => void
  /** False leaves the derivation to another process on the same database. */
  derives?: boolean
  /** The machine's time, from which the sandbox's clock starts. A test passes a fixed time. */
  machine?: () => number
  /** The users who may see the console at /console; absent: everybody on this machine, nobody else. */
  console?: Omit<ConsoleOptions, 'sandbox'>
  /** Requests become spans, and the metrics are sent. */
  otlp?: Pick<OtlpExport, 'exportMetrics'> | undefined
}

export type Sandbox = SandboxCredentials &
  SandboxControl & {
    url: string
    consoleUrl: string
    controlUrl: string
    close(): Promise<void>
  }

/**
 * Starts the Profile Service with sample people, faults on request, and a clock that can be moved.
 *
 * Safe to start again on the same database: stored people stay as they are, missing people are added, and the same secret
 * has the same keys. Resolves when the sandbox answers and the logs of all people are stored. The derivation of a
 * first start continues in the background, and `derived()` waits for it.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { databaseUrl, port, host, seed, log } = options
  await migrateService(databaseUrl)
  const clock = createMovableClock(options.machine ?? Date.now)
  const faults = createFaultSelector({ seed, rules: options.faults ?? [] })
  const journal = createJournal()
  const closing = new AbortController()
  const credentials = sandboxCredentialsOf(options.secret ?? randomBytes(32).toString('base64url'))
  const parts = { clock, faults, journal, credentials, closing: closing.signal }
  const { url, built, ...service } = await startService(
    { databaseUrl, port, ...(host === undefined ? {} : { host }), log, otlp: options.otlp, clock: clock.nowMs },
    async (extend) => {
      const { control } = await extend(sandboxExtension(options, parts))
      await extend(consoleExtension({ ...options.console, sandbox: { control, credentials } }))
      return control
    },
  )
  const close = async () => {
    closing.abort()
    await service.close()
  }
  return { ...credentials, ...built, url, consoleUrl: url + consolePath, controlUrl: url + controlPath, close }
}

/** Stores the sample people, starts the derivation, and adds the faults and the control routes to a service. */
function sandboxExtension(
  options: SandboxOptions,
  parts: Pick<SandboxControl, 'clock' | 'faults' | 'journal'> & {
    credentials: SandboxCredentials
    closing: AbortSignal
  },
): ServiceExtension<ServiceAddition & { control: SandboxControl }> {
  const { seed, log, onProgress, signal } = options
  const { clock, credentials } = parts
  return async (context) => {
    const { app, pool, host } = context
    addSandboxGuard(app, { host, names: options.names ?? [] })
    const people = samplePeople(seed, options.profiles)
    const span = { startMs: clock.nowMs() - options.days * DAY, endMs: clock.nowMs() }
    const accountId = await seedAccount(pool, { seed, credentials, nowAt: new Date(span.endMs) })
    const derives = options.derives !== false
    const derivationDelay = createDerivationDelay(pool, { ...parts, log, derives, elapsedMs: () => performance.now() })
    const complete = openCompletePeople(derivationDelay)
    const recompute = derives ? await startRecompute({ ...context, log, mayDerive: complete.mayDerive }) : undefined
    const onStored = (profileId: string) => {
      complete.add(profileId)
      recompute?.wake()
    }
    await seedPeople(pool, { accountId, people, span, signal, onProgress, onStored }).catch(async (error: unknown) => {
      await recompute?.close()
      throw error
    })
    complete.addAll()
    const internalSecret = randomBytes(16).toString('hex')
    const ledger = createServedRecordsReader({ app, internalSecret, ...credentials })
    const sampleNames = (await listSampleProfiles(pool, accountId)).map(({ externalId }) => externalId)
    const seeded = { accountId, seed, days: options.days, people, sampleNames, livedUntilMs: span.endMs }
    const control = createSandboxControl({ ...parts, derivationDelay, context, ledger, seeded, recompute })
    addFaultInjection(app, { ...control, internalSecret })
    addControlRoutes(app, control, credentials.controlToken)
    return { routes: [explainRoute], ...recompute, control }
  }
}

/** Each round sends their ids. The others of a large sandbox are derived when all are stored. */
const earlyPeopleMax = 100

/**
 * People are derived while others are stored, each only when all of their logs are: a person whose logs are being stored would be
 * derived over and over.
 */
function openCompletePeople(derivationDelay: Pick<DerivationDelay, 'mayDerive'>) {
  const stored: string[] = []
  let areAllStored = false
  return {
    add(profileId: string) {
      if (stored.length < earlyPeopleMax) stored.push(profileId)
    },
    addAll() {
      areAllStored = true
    },
    mayDerive: async () => {
      const overdue = await derivationDelay.mayDerive()
      return areAllStored ? overdue : stored.filter((profileId) => overdue?.includes(profileId) ?? true)
    },
  }
}

type SandboxNames = {
  /** The address on which the sandbox listens. */
  readonly host: string
  /** The names by which it may be asked beside those of this machine. */
  readonly names: readonly string[]
}

/**
 * Refuses requests that a page of another site sends from a visitor's browser: directly, which Origin and Sec-Fetch-Site show,
 * or by a name of its own that points here (DNS rebinding), which Host shows. An address is no such name: beyond loopback each is
 * answered.
 */
function addSandboxGuard(app: FastifyInstance, { host, names }: SandboxNames): void {
  const isOwnName = (name: string) =>
    isLoopback(name) || names.includes(name) || (!isLoopback(host) && isIP(name) !== 0)
  app.addHook('onRequest', async (request, reply) => {
    const refuse = (origin: string, reason: string) => {
      const { status, body } = new RequestError({
        status: 403,
        location: 'header',
        errors: [{ origin, errors: [reason] }],
      })
      return reply.code(status).header('content-type', jsonContentType).send(JSON.stringify(body))
    }
    if (!isOwnName(hostNameOf(request.headers.host)))
      return refuse('Host', 'is no name of this sandbox: SANDBOX_NAMES gives it further names')
    return isSentByOthers(request) ? refuse('Origin', 'is another site') : undefined
  })
}

/** A visitor may follow a link to the pages of the sandbox. */
function isSentByOthers({ headers, method }: FastifyRequest): boolean {
  const { origin } = headers
  if (origin !== undefined && URL.parse(origin)?.host !== headers.host) return true
  const isFollowedLink = method === 'GET' && headers['sec-fetch-mode'] === 'navigate'
  const site = headers['sec-fetch-site'] ?? 'none'
  return site !== 'none' && site !== 'same-origin' && !isFollowedLink
}
