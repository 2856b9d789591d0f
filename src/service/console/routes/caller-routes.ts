import { z } from 'zod'
import { tokenLifetimeSecondsMax } from '../../../base/contract/authentication.ts'
import { UnknownId, UsageProblem } from '../../../base/errors.ts'
import { findApiKey } from '../../store/credentials/api-keys.ts'
import { issueAccountToken } from '../../store/credentials/issued-tokens.ts'
import { type ConsoleContext, type ConsoleVisit, defineAct, defineRead } from './console-context.ts'

const chosenKey = z.strictObject({ keyId: z.string().min(1).max(100) })
const peopleQuery = z.strictObject({ keyId: z.string().min(1).max(100), search: z.string().max(100).default('') })

const PEOPLE_SHOWN = 20

/** Throws where there is no such key. */
export async function accountOfKey({ reads }: ConsoleContext, { keyId }: z.output<typeof chosenKey>): Promise<string> {
  const found =
    (await findApiKey(reads, { kind: 'client', publicId: keyId })) ??
    (await findApiKey(reads, { kind: 'app', publicId: keyId }))
  if (found) return found.accountId
  throw new UnknownId('use key: there is no such key, or it was revoked', { hint: 'Choose another one.' })
}

export type PeopleFound = Awaited<ReturnType<typeof findPeople>>

/** Names of people are shown only to those who may act: they could make a key and ask. */
async function findPeople(
  context: ConsoleContext,
  { keyId, search }: z.output<typeof peopleQuery>,
  visit: ConsoleVisit,
) {
  if (visit.actor.role !== 'act') throw new UsageProblem('find people: you may look, and not act')
  const accountId = await accountOfKey(context, { keyId })
  const { profileSearch } = context
  const found = await profileSearch.find({ accountId, searchParameter: search, page: 1, pageSize: PEOPLE_SHOWN })
  return { people: found.items.map(({ externalId }) => externalId), count: found.totalCount }
}

export type TokenAnswer = Awaited<ReturnType<typeof issueToken>>

/** The token that the key's owner would get for its secret, which exists nowhere else. It ends with the key. */
async function issueToken(context: ConsoleContext, { keyId }: z.output<typeof chosenKey>) {
  const { pool, clock } = context
  const accountId = await accountOfKey(context, { keyId })
  const token = { accountId, keyId, nowMs: clock(), lifetimeSeconds: tokenLifetimeSecondsMax }
  return { accountToken: await issueAccountToken(pool, token) }
}

export const callerRoutes = [
  defineRead({ name: 'people', query: peopleQuery, answer: findPeople }),
  defineAct({
    name: 'token',
    body: chosenKey,
    recorded: ({ keyId }) => ({ keyId }),
    requireChosen: accountOfKey,
    act: (context, body) => issueToken(context, body),
  }),
]
