import { dataLogsInputSchema, logsPerUploadMax, uploadAnswerSchema, uploadBytesMax } from '../../contract/data-log.ts'
import { Refusal, unauthorized } from '../refusal.ts'
import { defineRoute } from '../route.ts'
import { storeLogs } from '../store/logs.ts'

const uploadLogs = defineRoute({
  operation: 'uploadLogs',
  summary: 'Post data logs: all or nothing, idempotent by id',
  body: dataLogsInputSchema,
  answers: { 200: uploadAnswerSchema },
  bodyBytesMax: uploadBytesMax,
  writes: true,
  inTurn: true,
  async run({ room, profileId, body }) {
    const stored = await storeLogs(room.pool, { profileId, logs: body, now: new Date(room.clock()) })
    if (!stored) throw unauthorized()
    return { status: 200, json: stored }
  },
})

/** More entries than one upload may have is too large, not malformed: it is refused before any entry is looked at. */
export function refuseTooManyLogs(body: unknown): void {
  if (!Array.isArray(body) || body.length <= logsPerUploadMax) return
  const faults = [{ origin: '', errors: [`must have at most ${logsPerUploadMax} entries`] }]
  throw new Refusal({ status: 413, location: 'body', faults })
}

export const uploadRoutes = [uploadLogs]
