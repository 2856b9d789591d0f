import { isIP } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { checkedInstant, instantSchema } from '../../base/time/instant.ts'
import { DAY, HOUR, SECOND } from '../../base/time/units.ts'
import { badRequest, RequestError, unknownProfile } from '../http/request-error.ts'
import { parsePart } from '../http/route.ts'
import { faultCatalogue, faultNames, isFaultName } from './faults/fault-catalogue.ts'
import { faultRuleSchema } from './faults/fault-rules.ts'
import { personKinds } from './people/sample-person.ts'
import type { SandboxControl } from './sandbox-control.ts'

export const controlPath = '/__control'

const rulesSchema = z.union([faultRuleSchema, z.array(faultRuleSchema)])
/** Ten years. */
const moveMaxMs = 10 * 366 * DAY
const clockSchema = z.union([
  z.object({ advanceMs: z.number().min(-moveMaxMs).max(moveMaxMs) }),
  z.object({
    advanceHours: z
      .number()
      .min(-moveMaxMs / HOUR)
      .max(moveMaxMs / HOUR),
  }),
  z.object({ to: instantSchema }),
])
const liveSchema = z.object({
  hours: z
    .number()
    .min(0)
    .max(24 * 60),
})
const delaySchema = z.object({
  delayMs: z.number().min(0).max(HOUR),
  profiles: z.array(z.string()).min(1).max(10_000).optional(),
})
const peopleSchema = z.object({ kind: z.enum(personKinds), count: z.int().min(1).max(100).default(1) })
const revokeSchema = z.object({ externalId: z.string().optional() })

export const controlRouteTexts: Readonly<Record<string, string>> = {
  'GET /faults': 'lists the active rules, and how many requests or records each rule struck',
  'PUT /faults': 'replaces all rules by one rule or a list of rules',
  'POST /faults': 'adds one rule or a list of rules',
  'DELETE /faults': 'removes all rules; with ?name= the rules of that fault',
  'GET /clock': 'the time of the sandbox',
  'POST /clock': '{"advanceMs"}, {"advanceHours"} or {"to"}: moves the clock',
  'DELETE /clock': "sets the clock back to the machine's time",
  'POST /live': '{"hours"}: moves the clock forward, and stores the logs that the sample people record meanwhile',
  'GET /journal': 'counts of requests; with ?last=N the newest N requests too',
  'DELETE /journal': 'clears the journal',
  'GET /people': 'the sample profiles',
  'POST /people': '{"kind"}, {"kind", "count"}: makes further people of a kind',
  'GET /ledger/:externalId': 'every record that the service serves of a profile now, by stream',
  'GET /derivation': 'how long the derivation is delayed, for all profiles and for single profiles',
  'PUT /derivation': '{"delayMs"}: derives each profile so long after its logs came; with {"profiles"} those alone',
  'DELETE /derivation': 'removes all delays',
  'POST /derived': 'answers when the derivation has caught up with every upload',
  'POST /tokens/revoke': 'revokes all tokens, or with {"externalId"} the tokens of one profile',
}

/** Routes of the sandbox only, for tests and for people who try it. They take no token: anyone who reaches the port may use them. */
export function addControlRoutes(app: FastifyInstance, control: SandboxControl): void {
  app.addHook('onRequest', async (request) => {
    if (request.url.startsWith(controlPath)) refuseOtherSites(request)
  })
  app.get(controlPath, async () => ({ now: nowIsoOf(control), routes: controlRouteTexts, faults: faultCatalogue }))
  addFaultRoutes(app, control)
  addClockRoutes(app, control)
  addJournalRoutes(app, control)
  addDelayRoutes(app, control)
  addDataRoutes(app, control)
}

const pathOf = (path: string) => `${controlPath}${path}`

/**
 * The routes take no token, so a page of another site that a browser has open must not reach them: neither directly, which
 * its Origin shows, nor by a name of its own that points here (DNS rebinding), which the Host shows.
 */
function refuseOtherSites({ headers }: FastifyRequest): void {
  const host = headers.host ?? ''
  const name = host.replace(/:\d+$/, '')
  const isOwnName = isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0 || !name.includes('.')
  const isOwnPage = headers.origin === undefined || headers.origin === `http://${host}`
  if (isOwnName && isOwnPage) return
  const errors = [{ origin: isOwnName ? 'Origin' : 'Host', errors: ['is another site'] }]
  throw new RequestError({ status: 403, location: 'header', errors })
}

function addFaultRoutes(app: FastifyInstance, { faults }: SandboxControl): void {
  const path = pathOf('/faults')
  app.get(path, async () => faults.list())
  app.put(path, async (request) => {
    faults.set([parsePart(rulesSchema, request.body, 'body')].flat())
    return faults.list()
  })
  app.post(path, async (request) => {
    for (const rule of [parsePart(rulesSchema, request.body, 'body')].flat()) faults.add(rule)
    return faults.list()
  })
  app.delete(path, async (request) => {
    const name = textQueryOf(request)['name']
    if (name === undefined) faults.set([])
    else if (isFaultName(name)) faults.remove(name)
    else throw badRequest('query', [{ origin: 'name', errors: [`must be one of ${faultNames.join(', ')}`] }])
    return faults.list()
  })
}

function addClockRoutes(app: FastifyInstance, control: SandboxControl): void {
  const { clock } = control
  app.get(pathOf('/clock'), async () => clockAnswer(control))
  app.post(pathOf('/clock'), async (request) => {
    const move = parsePart(clockSchema, request.body, 'body')
    if ('to' in move) clock.moveTo(checkedInstant(move.to).epochMs)
    else clock.advance('advanceMs' in move ? move.advanceMs : move.advanceHours * HOUR)
    return clockAnswer(control)
  })
  app.delete(pathOf('/clock'), async () => {
    clock.reset()
    return clockAnswer(control)
  })
  app.post(pathOf('/live'), async (request) => {
    const lived = await control.live(parsePart(liveSchema, request.body, 'body').hours * HOUR)
    return { ...clockAnswer(control), ...lived }
  })
}

function addJournalRoutes(app: FastifyInstance, { journal }: SandboxControl): void {
  app.get(pathOf('/journal'), async (request) => {
    const last = Number(textQueryOf(request)['last'] ?? 0)
    return { ...journal.read(), ...(last > 0 ? { entries: journal.last(last) } : {}) }
  })
  app.delete(pathOf('/journal'), async () => {
    journal.clear()
    return journal.read()
  })
}

function addDelayRoutes(app: FastifyInstance, { derivationDelay }: SandboxControl): void {
  const path = pathOf('/derivation')
  app.get(path, async () => derivationDelay.read())
  app.put(path, async (request) => derivationDelay.set(parsePart(delaySchema, request.body, 'body')))
  app.delete(path, async () => derivationDelay.clear())
}

function addDataRoutes(app: FastifyInstance, control: SandboxControl): void {
  app.get(pathOf('/people'), async () => control.people())
  app.post(pathOf('/people'), async (request) => {
    const { kind, count } = parsePart(peopleSchema, request.body, 'body')
    return { made: await control.makePeople(kind, count) }
  })
  app.get<{ Params: { externalId: string } }>(pathOf('/ledger/:externalId'), async (request) => {
    const ledger = await control.ledger(request.params.externalId)
    if (!ledger) throw unknownProfile()
    return ledger
  })
  app.post(pathOf('/derived'), async () => {
    await control.derived()
    return { derived: true }
  })
  app.post(pathOf('/tokens/revoke'), async (request) => {
    const { externalId } = request.body ? parsePart(revokeSchema, request.body, 'body') : {}
    return { revoked: await control.revokeTokens(externalId) }
  })
}

const nowIsoOf = ({ clock }: SandboxControl) => new Date(clock.nowMs()).toISOString()

function clockAnswer(control: SandboxControl) {
  return { now: nowIsoOf(control), aheadSeconds: Math.round(control.clock.aheadMs() / SECOND) }
}

function textQueryOf(request: FastifyRequest): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(Object(request.query)).map(([key, value]) => [key, String(value)]))
}
