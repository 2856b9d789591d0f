import type { FastifyInstance } from 'fastify'
import { type OperationName, operations } from '../../contract/operations.ts'
import { ownHeader } from './faults/line.ts'
import type { ServedRecord } from './faults/records.ts'

/** All that is served of one profile, by stream; a stream without records is an empty list. */
export type Ledger = Record<keyof typeof streams, ServedRecord[]>

const streams = {
  scores: 'scoresOf',
  biomarkers: 'biomarkersOf',
  archetypes: 'archetypesOf',
  trends: 'trendsOf',
  comparisons: 'comparisonsOf',
  tags: 'tagsOf',
  demographics: 'demographic',
  'device-information': 'deviceInformation',
} as const satisfies Record<string, OperationName>

type LedgerOptions = { app: FastifyInstance; own: string; clientId: string; clientSecret: string }

/**
 * The upstream's own word on what it holds, for comparing a warehouse with. Read through the service's own routes
 * without a window, past all faults but those about what is true (late, revised, vanished).
 */
export function createLedgerReader({ app, own, clientId, clientSecret }: LedgerOptions) {
  let accountToken: string | undefined

  const ask = async (operation: OperationName, externalId: string, more: { authorization?: string; body?: object }) => {
    const { method, path } = operations[operation]
    const answer = await app.inject({
      method,
      url: path.replace('{externalId}', encodeURIComponent(externalId)),
      headers: { [ownHeader]: own, ...(more.authorization ? { authorization: more.authorization } : {}) },
      ...(more.body ? { payload: more.body } : {}),
    })
    return { status: answer.statusCode, body: answer.body === '' ? undefined : JSON.parse(answer.body) }
  }

  /** With a fresh account token when the one at hand has died, as it does when the clock is moved. */
  const askAsAccount = async (operation: OperationName, externalId: string, body?: object) => {
    for (let attempt = 0; attempt < 2; attempt += 1) {
      accountToken ??= (await ask('accountToken', '', { body: { clientId, clientSecret } })).body.accountToken
      const more = { authorization: `account ${accountToken}`, ...(body ? { body } : {}) }
      const answer = await ask(operation, externalId, more)
      if (answer.status !== 401) return answer
      accountToken = undefined
    }
    throw new Error('read ledger: a new account token is refused')
  }

  return async (externalId: string): Promise<Ledger | undefined> => {
    const issued = await askAsAccount('profileToken', externalId, { externalId })
    if (issued.status === 404) return undefined
    const asProfile = { authorization: `profile ${issued.body.profileToken}` }
    const read = async (operation: OperationName): Promise<ServedRecord[]> => {
      const byAccount = operations[operation].caller === 'account'
      const { body } = byAccount
        ? await askAsAccount(operation, externalId)
        : await ask(operation, externalId, asProfile)
      return body === undefined ? [] : [body].flat()
    }
    const readStream = async (name: keyof typeof streams) => [name, await read(streams[name])] as const
    const names = Object.keys(streams) as Array<keyof typeof streams> // the keys of a literal are its names
    return Object.fromEntries(await Promise.all(names.map(readStream))) as Ledger // every stream was just read
  }
}
