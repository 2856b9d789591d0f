import {
  dataLogsInputSchema,
  logsPerUploadMax,
  uploadAnswerSchema,
  uploadBytesMax,
} from '../../base/contract/data-log.ts'
import { operations } from '../../base/contract/operations.ts'
import { unauthorized } from '../http/request-error.ts'
import { defineRoute } from '../http/service-route.ts'
import { storeDataLogs } from '../store/data-logs.ts'

const uploadLogs = defineRoute({
  ...operations.uploadLogs,
  summary: 'Post data logs: all or nothing, idempotent by id',
  body: dataLogsInputSchema,
  answers: { 200: uploadAnswerSchema },
  bodyBytesMax: uploadBytesMax,
  entriesMax: logsPerUploadMax,
  writes: true,
  limitsConcurrency: true,
  async run({ context, profileId, body }) {
    const stored = await storeDataLogs(context.pool, { profileId, logs: body, nowAt: new Date(context.clock()) })
    if (!stored) throw unauthorized()
    return { status: 200, json: stored }
  },
})

export const uploadRoutes = [uploadLogs]
