import { z } from 'zod'
import { scoreTypes } from '../../contract/score.ts'
import { accountOf } from '../gate.ts'
import { unknownProfile } from '../refusal.ts'
import { parsePart } from '../route.ts'
import type { Extension } from '../server.ts'
import { findProfileId } from '../store/profiles.ts'
import { explainStored } from './explain.ts'
import { startRecompute } from './recompute.ts'

/** Beside the 28 operations: where a score comes from. For the account, like every route with an externalId. */
const explainPath = '/api/v1/profile/explain'

const querySchema = z.object({
  date: z.iso.date({ error: 'must be a local date such as 2026-07-11' }),
  score: z.enum(scoreTypes, { error: `must be one of ${scoreTypes.join(', ')}` }),
})

/** The route that explains: `GET /api/v1/profile/explain/{externalId}?date=2026-07-11&score=sleep`. */
export const explaining: Extension = async ({ app, ...room }) => {
  app.get(`${explainPath}/:externalId`, async (request, reply) => {
    const accountId = await accountOf(room, request)
    const { date, score } = parsePart(querySchema, request.query, 'query')
    const { externalId } = Object(request.params) as { externalId: string }
    const profileId = await findProfileId(room.pool, { accountId, externalId })
    const asked = { date, type: score, now: room.clock() }
    const explanation = profileId && (await explainStored(room.pool, { profileId, ...asked }))
    if (!explanation) throw unknownProfile()
    return reply.send(explanation)
  })
  return undefined
}

/** Derivation as part of a service: the work in the background, and the route that explains. */
export const deriving: Extension = async (room) => {
  await explaining(room)
  return startRecompute(room)
}
