import {
  dataLogsInputSchema,
  logsPerUploadMax,
  uploadAnswerSchema,
  uploadBytesMax,
} from '../../base/contract/data-log.ts'
import { RequestError, unauthorized } from '../http/request-error.ts'
import { defineRoute } from '../http/route.ts'
import { storeDataLogs } from '../store/data-logs.ts'

const uploadLogs = defineRoute({
  operation: 'uploadLogs',
  summary: 'Post data logs: all or nothing, idempotent by id',
  body: dataLogsInputSchema,
  answers: { 200: uploadAnswerSchema },
  bodyBytesMax: uploadBytesMax,
  writes: true,
  limitsConcurrency: true,
  async run({ context, profileId, body }) {
    const stored = await storeDataLogs(context.pool, { profileId, logs: body, nowAt: new Date(context.clock()) })
    if (!stored) throw unauthorized()
    return { status: 200, json: stored }
  },
})

/** An upload with too many entries is too large (413), not malformed (400), and is refused before an entry is parsed. */
export function refuseTooManyLogs(body: unknown): void {
  if (!Array.isArray(body) || body.length <= logsPerUploadMax) return
  const errors = [{ origin: '', errors: [`must have at most ${logsPerUploadMax} entries`] }]
  throw new RequestError({ status: 413, location: 'body', errors })
}

export const uploadRoutes = [uploadLogs]
