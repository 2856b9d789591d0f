import type { FastifyInstance } from 'fastify'
import { type OperationName, operations } from '../../base/contract/operations.ts'
import { internalHeader } from './faults/fault-injection.ts'
import type { ServedRecord } from './faults/faulty-records.ts'

type StreamName = keyof typeof operationOfStream

/** All records that the service serves of one profile, by stream; a stream without records is an empty list. */
export type ServedRecords = Record<StreamName, ServedRecord[]>

const operationOfStream = {
  scores: 'scoresOf',
  biomarkers: 'biomarkersOf',
  archetypes: 'archetypesOf',
  trends: 'trendsOf',
  comparisons: 'comparisonsOf',
  tags: 'tagsOf',
  demographics: 'demographic',
  'device-information': 'deviceInformation',
} as const satisfies Record<string, OperationName>

const streamNames = Object.keys(operationOfStream) as StreamName[] // the keys of a literal are its names

type ServedRecordsOptions = {
  app: FastifyInstance
  internalSecret: string
  clientId: string
  clientSecret: string
}

/**
 * Reads the records that the sandbox holds true, for a comparison with a warehouse: through the service's own routes,
 * without a window, and with no faults but those of what is true (late, revised, vanished).
 */
export function createServedRecordsReader(options: ServedRecordsOptions) {
  const { clientId, clientSecret } = options
  let accountToken: string | undefined

  /** Gets a new account token when the present one is refused: a move of the clock expires it. */
  const sendAsAccount = async (operation: OperationName, externalId: string, body?: object) => {
    for (let attempt = 0; attempt < 2; attempt += 1) {
      accountToken ??= (await sendInternally(options, 'accountToken', { body: { clientId, clientSecret } })).body
        .accountToken
      const authorization = `account ${accountToken}`
      const answer = await sendInternally(options, operation, { externalId, authorization, body })
      if (answer.status !== 401) return answer
      accountToken = undefined
    }
    throw new Error('read served records: the service refused a new account token')
  }

  return async (externalId: string): Promise<ServedRecords | undefined> => {
    const issued = await sendAsAccount('profileToken', externalId, { externalId })
    if (issued.status === 404) return undefined
    const authorization = `profile ${issued.body.profileToken}`
    const read = async (operation: OperationName): Promise<ServedRecord[]> => {
      const byAccount = operations[operation].caller === 'account'
      const { body } = byAccount
        ? await sendAsAccount(operation, externalId)
        : await sendInternally(options, operation, { externalId, authorization })
      return body === undefined ? [] : [body].flat()
    }
    const entries = streamNames.map(async (name) => [name, await read(operationOfStream[name])] as const)
    return Object.fromEntries(await Promise.all(entries)) as ServedRecords // every stream was just read
  }
}

async function sendInternally(
  { app, internalSecret }: ServedRecordsOptions,
  operation: OperationName,
  { externalId = '', authorization, body }: { externalId?: string; authorization?: string; body?: object | undefined },
) {
  const { method, path } = operations[operation]
  const answer = await app.inject({
    method,
    url: path.replace('{externalId}', encodeURIComponent(externalId)),
    headers: { [internalHeader]: internalSecret, ...(authorization ? { authorization } : {}) },
    ...(body ? { payload: body } : {}),
  })
  return { status: answer.statusCode, body: answer.body === '' ? undefined : JSON.parse(answer.body) }
}
