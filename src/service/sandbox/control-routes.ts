import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { instantSchema } from '../../base/contract/instant-schemas.ts'
import { checkedInstant } from '../../base/time/instant.ts'
import { DAY, HOUR, SECOND } from '../../base/time/units.ts'
import { addRoutes, type Route } from '../../web/route.ts'
import { readAuthorization } from '../http/authenticate.ts'
import { RequestError, unknownProfile } from '../http/request-error.ts'
import { parsePart } from '../http/service-route.ts'
import { hashSecret, matchesHash } from '../store/credentials/secrets.ts'
import { faultCatalogue, faultNames } from './faults/fault-catalogue.ts'
import { faultRuleSchema } from './faults/fault-rules.ts'
import { personKinds } from './people/sample-person.ts'
import type { SandboxControl } from './sandbox-control.ts'

export const controlPath = '/__control'

const rulesSchema = z.union([faultRuleSchema, z.array(faultRuleSchema)])
/** Ten years. */
const moveMaxMs = 10 * 366 * DAY
const moveMaxHours = moveMaxMs / HOUR
const clockSchema = z.union([
  z.object({ advanceMs: z.number().min(-moveMaxMs).max(moveMaxMs) }),
  z.object({ advanceHours: z.number().min(-moveMaxHours).max(moveMaxHours) }),
  z.object({ to: instantSchema }),
])
const liveHoursMax = 24 * 60
const delaySchema = z.object({
  delayMs: z.number().min(0).max(HOUR),
  profiles: z.array(z.string()).min(1).max(10_000).optional(),
})

type ControlRoute = Route<{ control: SandboxControl }> & { summary: string }

/** `address`: the method, and the path below /__control. `act` returns the JSON of the answer. */
function control<Body, Query>(
  address: `${'GET' | 'PUT' | 'POST' | 'DELETE'} /${string}`,
  summary: string,
  {
    act,
    ...input
  }: Pick<Route<object, Body, Query>, 'body' | 'query'> & {
    act(control: SandboxControl, input: { body: Body; query: Query; request: FastifyRequest }): unknown
  },
): ControlRoute {
  const [method, path] = address.split(' ') as ['GET', string] // or another method of the type
  const run: Route<{ control: SandboxControl }, Body, Query>['run'] = async (call) => ({
    json: await act(call.control, call),
  })
  return { name: 'control', method, path: controlPath + path, caller: 'anyone', summary, ...input, run }
}

export const controlRoutes: readonly ControlRoute[] = [
  control('GET /faults', 'lists the active rules, and how many requests or records each rule struck', {
    act: ({ faults }) => faults.list(),
  }),
  control('PUT /faults', 'replaces all rules by one rule or a list of rules', {
    body: rulesSchema,
    act({ faults }, { body }) {
      faults.set([body].flat())
      return faults.list()
    },
  }),
  control('POST /faults', 'adds one rule or a list of rules', {
    body: rulesSchema,
    act({ faults }, { body }) {
      for (const rule of [body].flat()) faults.add(rule)
      return faults.list()
    },
  }),
  control('DELETE /faults', 'removes all rules; with ?name= the rules of that fault', {
    query: z.object({ name: z.enum(faultNames, { error: `must be one of ${faultNames.join(', ')}` }).optional() }),
    act({ faults }, { query: { name } }) {
      if (name === undefined) faults.set([])
      else faults.remove(name)
      return faults.list()
    },
  }),
  control('GET /clock', 'the time of the sandbox', { act: clockAnswer }),
  control('POST /clock', '{"advanceMs"}, {"advanceHours"} or {"to"}: moves the clock', {
    body: clockSchema,
    act(sandbox, { body }) {
      const { clock } = sandbox
      if ('to' in body) clock.moveTo(checkedInstant(body.to).epochMs)
      else clock.advance('advanceMs' in body ? body.advanceMs : body.advanceHours * HOUR)
      return clockAnswer(sandbox)
    },
  }),
  control('DELETE /clock', "sets the clock back to the machine's time", {
    act(sandbox) {
      sandbox.clock.reset()
      return clockAnswer(sandbox)
    },
  }),
  control(
    'POST /live',
    '{"hours"}: moves the clock forward, and stores the logs that the sample people record meanwhile',
    {
      body: z.object({ hours: z.number().min(0).max(liveHoursMax) }),
      act: async (sandbox, { body }) => {
        const lived = await sandbox.live(body.hours * HOUR)
        return { ...clockAnswer(sandbox), ...lived }
      },
    },
  ),
  control('GET /journal', 'counts of requests; with ?last=N the newest N requests too', {
    query: z.object({ last: z.coerce.number().catch(0) }),
    act: ({ journal }, { query: { last } }) => ({
      ...journal.read(),
      ...(last > 0 ? { entries: journal.last(last) } : {}),
    }),
  }),
  control('DELETE /journal', 'clears the journal', {
    act({ journal }) {
      journal.clear()
      return journal.read()
    },
  }),
  control('GET /people', 'the sample profiles', { act: (sandbox) => sandbox.people() }),
  control('POST /people', '{"kind"}, {"kind", "count"}: makes further people of a kind', {
    body: z.object({ kind: z.enum(personKinds), count: z.int().min(1).max(100).default(1) }),
    act: async (sandbox, { body: { kind, count } }) => ({ made: await sandbox.makePeople(kind, count) }),
  }),
  control('GET /ledger/:externalId', 'every record that the service serves of a sample profile now, by stream', {
    async act(sandbox, { request }) {
      const { externalId } = request.params as { externalId: string } // of the path
      const ledger = sandbox.isSample(externalId) ? await sandbox.ledger(externalId) : undefined
      if (!ledger) throw unknownProfile()
      return ledger
    },
  }),
  control('GET /derivation', 'how long the derivation is delayed, for all profiles and for single profiles', {
    act: ({ derivationDelay }) => derivationDelay.read(),
  }),
  control(
    'PUT /derivation',
    '{"delayMs"}: derives each profile so long after its logs came; with {"profiles"} those alone',
    {
      body: delaySchema,
      act: ({ derivationDelay }, { body }) => derivationDelay.set(body),
    },
  ),
  control('DELETE /derivation', 'removes all delays', { act: ({ derivationDelay }) => derivationDelay.clear() }),
  control('POST /derived', 'answers when the derivation has caught up with every upload', {
    act: async (sandbox) => {
      await sandbox.derived()
      return { derived: true }
    },
  }),
  control('POST /tokens/revoke', 'revokes all tokens, or with {"externalId"} the tokens of one profile', {
    body: z.object({ externalId: z.string().optional() }).nullish(),
    act: async (sandbox, { body }) => ({ revoked: await sandbox.revokeTokens(body?.externalId) }),
  }),
]

/** Adds the routes of the sandbox only, for tests and for people who try it. They take `controlToken` as a bearer token. */
export function addControlRoutes(app: FastifyInstance, sandbox: SandboxControl, controlToken: string): void {
  const tokenHash = hashSecret(controlToken)
  const routes = Object.fromEntries(
    controlRoutes.map(({ method, path, summary }) => [`${method} ${path.slice(controlPath.length)}`, summary]),
  )
  const root: ControlRoute = {
    ...control('GET /', '', { act: () => ({ now: clockAnswer(sandbox).now, routes, faults: faultCatalogue }) }),
    path: controlPath,
  }
  addRoutes(app, [root, ...controlRoutes], () => ({
    async admit(request) {
      const { scheme, secret = '' } = readAuthorization(request) ?? {}
      if (scheme !== 'bearer' || !matchesHash(secret, tokenHash)) throw withoutControlToken()
    },
    callOf: () => ({ control: sandbox }),
    parse: parsePart,
  }))
}

const withoutControlToken = () =>
  new RequestError({
    status: 401,
    location: 'header',
    errors: [{ origin: 'Authorization', errors: ['must be Bearer and the control token of this sandbox'] }],
    headers: { 'www-authenticate': 'Bearer' },
  })

function clockAnswer({ clock }: SandboxControl) {
  return { now: new Date(clock.nowMs()).toISOString(), aheadSeconds: Math.round(clock.aheadMs() / SECOND) }
}
