import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { instantSchema, parseInstant } from '../../contract/instant.ts'
import { HOUR, SECOND } from '../../window.ts'
import { badRequest, faultsOf, Refusal } from '../refusal.ts'
import { faults as catalogue, faultNames, isFaultName } from './faults/catalogue.ts'
import { ruleSchema } from './faults/rules.ts'
import type { World } from './world.ts'

export const controlPath = '/__control'

const rulesSchema = z.union([ruleSchema, z.array(ruleSchema)])
const millisecondsMax = 10 * 366 * 24 * HOUR
const clockSchema = z.union([
  z.object({ advanceMs: z.number().min(-millisecondsMax).max(millisecondsMax) }),
  z.object({ advanceHours: z.number().min(-87_600).max(87_600) }),
  z.object({ to: instantSchema }),
])
const liveSchema = z.object({
  hours: z
    .number()
    .min(0)
    .max(24 * 60),
})
const revokeSchema = z.object({ externalId: z.string().optional() })

export const controlRoutes: Readonly<Record<string, string>> = {
  'GET /faults': 'the rules in force, and how often each was met',
  'PUT /faults': 'one rule or a list of them: these and no others',
  'POST /faults': 'one rule or a list of them: these as well',
  'DELETE /faults': 'no rules; with ?name= none of that name',
  'GET /clock': 'what time it is',
  'POST /clock': '{"advanceMs"}, {"advanceHours"} or {"to"}: moves the clock',
  'DELETE /clock': "back to the machine's own time",
  'POST /live': '{"hours"}: moves the clock on while the sample people go on living and their devices writing',
  'GET /journal': 'counts of requests; with ?last=N the newest requests too',
  'DELETE /journal': 'forgets them',
  'GET /people': 'the sample profiles',
  'GET /ledger/:externalId': 'every record that is served of a profile now, by stream',
  'POST /derived': 'answers when everything derived is there',
  'POST /tokens/revoke': 'takes all tokens, or with {"externalId"} those of a profile',
}

/** Routes for tests and the curious, in sandbox mode only. They take no token: whoever reaches the port may use them. */
export function addControl(app: FastifyInstance, world: World): void {
  const at = (path: string) => `${controlPath}${path}`
  app.get(controlPath, async () => ({ now: nowIn(world), routes: controlRoutes, faults: catalogue }))

  app.get(at('/faults'), async () => world.faults.list())
  app.put(at('/faults'), async (request) => {
    world.faults.set([parsed(rulesSchema, request)].flat())
    return world.faults.list()
  })
  app.post(at('/faults'), async (request) => {
    for (const rule of [parsed(rulesSchema, request)].flat()) world.faults.add(rule)
    return world.faults.list()
  })
  app.delete(at('/faults'), async (request) => {
    const name = queryOf(request)['name']
    if (name === undefined) world.faults.set([])
    else if (isFaultName(name)) world.faults.remove(name)
    else throw badRequest('query', [{ origin: 'name', errors: [`must be one of ${faultNames.join(', ')}`] }])
    return world.faults.list()
  })

  app.get(at('/clock'), async () => clockAnswer(world))
  app.post(at('/clock'), async (request) => {
    const move = parsed(clockSchema, request)
    if ('to' in move) world.clock.moveTo(parseInstant(move.to)?.epochMs ?? world.clock.now())
    else world.clock.advance('advanceMs' in move ? move.advanceMs : move.advanceHours * HOUR)
    return clockAnswer(world)
  })
  app.delete(at('/clock'), async () => {
    world.clock.reset()
    return clockAnswer(world)
  })
  app.post(at('/live'), async (request) => {
    const lived = await world.live(parsed(liveSchema, request).hours * HOUR)
    return { ...clockAnswer(world), ...lived }
  })

  app.get(at('/journal'), async (request) => {
    const last = Number(queryOf(request)['last'] ?? 0)
    return { ...world.journal.read(), ...(last > 0 ? { entries: world.journal.last(last) } : {}) }
  })
  app.delete(at('/journal'), async () => {
    world.journal.clear()
    return world.journal.read()
  })

  app.get(at('/people'), async () => world.people())
  app.get<{ Params: { externalId: string } }>(at('/ledger/:externalId'), async (request) => {
    const ledger = await world.ledger(request.params.externalId)
    if (ledger) return ledger
    throw new Refusal({ status: 404, location: 'path', faults: [{ origin: 'externalId', errors: ['is not known'] }] })
  })
  app.post(at('/derived'), async () => {
    await world.derived()
    return { derived: true }
  })
  app.post(at('/tokens/revoke'), async (request) => ({
    revoked: await world.revokeTokens(request.body ? parsed(revokeSchema, request).externalId : undefined),
  }))
}

const nowIn = (world: World) => new Date(world.clock.now()).toISOString()

function clockAnswer(world: World) {
  return { now: nowIn(world), aheadSeconds: Math.round(world.clock.aheadMs() / SECOND) }
}

function parsed<T>(schema: z.ZodType<T>, request: FastifyRequest): T {
  const result = schema.safeParse(request.body)
  if (!result.success) throw badRequest('body', faultsOf(result.error))
  return result.data
}

function queryOf(request: FastifyRequest): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(Object(request.query)).map(([key, value]) => [key, String(value)]))
}
