import { randomUUID } from 'node:crypto'
import { operations } from '../../base/contract/operations.ts'
import { sleep } from '../../base/sleep.ts'
import { hexDigestOf } from '../../base/text/digest.ts'
import { isJsonObject, jsonOrUndefined } from '../../base/text/json.ts'
import { SECOND } from '../../base/time/units.ts'
import {
  type HttpHeaders,
  type HttpResponse,
  type Transport,
  TransportError,
  transportDefaults,
} from '../../pipeline/upstream/http.ts'
import { queryStringOf, requestPathOf } from '../../pipeline/upstream/operation-rules.ts'
import { httpDateMsOf, retryAfterMsOf } from '../../pipeline/upstream/retry-after.ts'
import { basePathOf, openTransport } from '../../pipeline/upstream/transport.ts'
import { accountTokenKey, profileTokenKey, searchKeys } from './access-points.ts'
import { type ContractPoint, type Exchange, isOk, type Question, type Seen } from './contract-point.ts'
import { PEOPLE_MAX } from './stream-answers.ts'

export type AskOptions = {
  readonly upstream: { readonly url: string; readonly clientId: string; readonly clientSecret: string }
  /** externalIds to ask about; absent: the first that a search finds. */
  readonly people: readonly string[]
  readonly requestsPerSecond: number
  readonly signal: AbortSignal
}

export const REQUESTS_MAX = 200
/** Requests that are kept for undoing what was written. */
const UNDOING_MAX = 10
/** Each round asks what the answers of the one before make possible. */
const ROUNDS_MAX = 20
const BODY_BYTES_MAX = 16 * 1024 * 1024
/** The limit of all answers together, which are held until they are judged. */
const ALL_BYTES_MAX = 128 * 1024 * 1024
const ANSWER_TIMEOUT_MS = 30 * SECOND
const PAUSE_MAX_MS = 30 * SECOND
const HEADERS_MAX = 100

type Session = {
  readonly options: AskOptions
  readonly transport: Transport
  readonly exchanges: Map<string, Exchange>
  readonly people: string[]
  readonly throwAway: string
  /** The tokens by whose they are: `account`, or the person. */
  readonly tokens: Map<string, string>
  refreshToken: string
  /** The bytes of the answers so far, and the limits of both. */
  bytes: number
  readonly requestsMax: number
  readonly bytesMax: number
}

type Asks = (point: ContractPoint) => readonly Question[]

/** The answers to the questions of the points. Sends one request at a time, within the rate, and at the end undoes what was written. */
export async function askUpstream(points: readonly ContractPoint[], options: AskOptions): Promise<Seen> {
  const limits = {
    ...transportDefaults,
    connectionsMax: 1,
    totalTimeoutMs: ANSWER_TIMEOUT_MS,
    bodyBytesMax: BODY_BYTES_MAX,
    bufferedBytesMax: BODY_BYTES_MAX,
    acceptEncoding: 'gzip', // on this machine too: whether upstream packs is one of the questions
  }
  const session: Session = {
    options,
    transport: openTransport(options.upstream.url, limits),
    exchanges: new Map(),
    people: options.people.slice(0, PEOPLE_MAX),
    throwAway: `vitalsync-contract-${randomUUID()}`,
    tokens: new Map(),
    refreshToken: '',
    bytes: 0,
    requestsMax: REQUESTS_MAX - UNDOING_MAX,
    bytesMax: ALL_BYTES_MAX,
  }
  const seen = seenOf(session, Date.now())
  try {
    await askRounds(session, points, (point) => point.asks?.(seen) ?? [])
  } finally {
    await undo(session, points, seen).finally(() => session.transport.close())
  }
  return seen
}

function seenOf({ exchanges, people }: Session, startedAtMs: number): Seen {
  return {
    answer: (key) => exchanges.get(key),
    answers: () => [...exchanges.values()],
    get people() {
      return people.length
    },
    startedAtMs,
  }
}

/** An interrupted examination undoes what it wrote as well. */
async function undo(session: Session, points: readonly ContractPoint[], seen: Seen): Promise<void> {
  const options = { ...session.options, signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS) }
  const limits = { requestsMax: REQUESTS_MAX, bytesMax: Number.POSITIVE_INFINITY }
  await askRounds({ ...session, ...limits, options }, points, (point) => point.undoes?.(seen) ?? [])
}

async function askRounds(session: Session, points: readonly ContractPoint[], asksOf: Asks): Promise<void> {
  const { exchanges } = session
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const before = exchanges.size
    for (const question of points.flatMap(asksOf)) {
      if (session.options.signal.aborted || isRefused(session)) return
      if (!exchanges.has(question.key)) await ask(session, question)
    }
    if (exchanges.size === before) return
  }
}

/** Without an account token every other answer would be 401. */
function isRefused({ exchanges }: Session): boolean {
  const token = exchanges.get(accountTokenKey)
  return token !== undefined && !isOk(token)
}

async function ask(session: Session, question: Question): Promise<void> {
  const { operation, person } = question
  if (operation.caller === 'profile' && person !== undefined && !session.tokens.has(String(person)))
    await ask(session, profileTokenQuestion(person))
  const first = await send(session, question)
  const pauseMs = first.status === 429 || first.status === 503 ? retryPauseMsOf(first) : undefined
  if (pauseMs === undefined) return keep(session, first)
  keep(session, { ...first, question: { ...question, key: `${question.key}/busy` } })
  await sleep(pauseMs, session.options.signal)
  keep(session, await send(session, question))
}

const profileTokenQuestion = (person: number | 'throw-away'): Question => ({
  key: profileTokenKey(person),
  operation: operations.profileToken,
  person,
  body: ({ externalId }) => ({ externalId }),
})

/** How long to wait before the one repetition; undefined where upstream wants a longer pause. */
function retryPauseMsOf({ headers }: Exchange): number | undefined {
  const pauseMs = retryAfterMsOf(headers['retry-after'], httpDateMsOf(headers['date']), Date.now()) ?? SECOND
  return pauseMs <= PAUSE_MAX_MS ? pauseMs : undefined
}

function keep(session: Session, exchange: Exchange): void {
  const { exchanges, people } = session
  exchanges.set(exchange.question.key, exchange)
  session.bytes += exchange.bytes
  if (searchKeys.includes(exchange.question.key) && people.length === 0) people.push(...peopleIn(exchange))
}

/** Those who have data first. */
function peopleIn({ body }: Exchange): readonly string[] {
  const items = isJsonObject(body) && Array.isArray(body['items']) ? body['items'].filter(isJsonObject) : []
  const hasData = (item: Readonly<Record<string, unknown>>) => Number(item['dataLastReceivedAtUtc'] != null)
  return items
    .toSorted((a, b) => hasData(b) - hasData(a))
    .flatMap(({ externalId }) => (typeof externalId === 'string' && externalId !== '' ? [externalId] : []))
    .slice(0, PEOPLE_MAX)
}

async function send(session: Session, question: Question): Promise<Exchange> {
  const { options, transport, exchanges, bytes, requestsMax, bytesMax } = session
  const refuse = (failure: string): Exchange => ({ ...unanswered, question, failure })
  if (exchanges.size >= requestsMax) return refuse('not asked: the limit of requests is reached')
  if (bytes >= bytesMax) return refuse('not asked: the answers are too large together')
  const externalId = externalIdOf(session, question)
  const path = requestPathOf(question.operation, externalId)
  if (path === undefined) return refuse('not asked: the name of the person cannot stand in a path')
  if (exchanges.size > 0) await sleep(SECOND / options.requestsPerSecond, options.signal)
  const { clientId, clientSecret } = options.upstream
  const body = question.body?.({
    clientId,
    clientSecret,
    externalId: externalId ?? '',
    refreshToken: session.refreshToken,
  })
  let headers: HttpHeaders = {}
  try {
    const response = await transport.send({
      method: question.operation.method,
      path: basePathOf(options.upstream.url) + path + queryStringOf(question.query ?? {}),
      headers: headersOf(session, question, body !== undefined),
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: options.signal,
      onHeaders: (received) => {
        headers = received
      },
    })
    return exchangeOf(session, question, { response, headers })
  } catch (error) {
    const failed = refuse(error instanceof TransportError ? `no answer (${error.kind})` : 'no answer')
    // Upstream may have carried out what was interrupted: it is undone with the rest.
    if (options.signal.aborted) keep(session, failed)
    options.signal.throwIfAborted()
    return failed
  }
}

const unanswered = {
  status: undefined,
  headers: {},
  body: undefined,
  bytes: 0,
  digest: '',
  aheadMs: undefined,
} as const

function externalIdOf({ people, throwAway }: Session, { person }: Question): string | undefined {
  return person === 'throw-away' ? throwAway : person === undefined ? undefined : people[person]
}

function headersOf({ tokens }: Session, question: Question, hasBody: boolean): string[] {
  const { operation, token, person, headers = {} } = question
  const scheme = operation.caller === 'profile' ? 'profile' : 'account'
  const secret = token === 'made-up' ? randomUUID() : tokens.get(scheme === 'profile' ? String(person) : 'account')
  const isAuthorized = operation.caller !== 'anyone' && token !== 'none' && secret !== undefined
  return [
    ...(isAuthorized ? ['authorization', `${scheme} ${secret}`] : []),
    ...(hasBody ? ['content-type', 'application/json'] : []),
    ...Object.entries(headers).flat(),
  ]
}

type Received = { readonly response: HttpResponse; readonly headers: HttpHeaders }

function exchangeOf(session: Session, question: Question, { response, headers }: Received): Exchange {
  const text = response.body.toString('utf8')
  const dateMs = httpDateMsOf(response.date)
  return {
    question,
    status: response.status,
    failure: undefined,
    headers: Object.fromEntries(
      Object.entries(headers)
        .slice(0, HEADERS_MAX)
        .map(([name, value]) => [name.toLowerCase(), [value ?? ''].flat().join(', ')]),
    ),
    body: withoutTokens(session, question, jsonOrUndefined(text)),
    bytes: response.body.length,
    digest: hexDigestOf(text, 32),
    // The Date header has whole seconds: on average half a second is missing.
    aheadMs: dateMs === undefined ? undefined : dateMs + SECOND / 2 - Date.now(),
  }
}

/** Keeps the tokens of an answer for the questions that follow, and masks them in the body that is judged. */
function withoutTokens(session: Session, { key, person }: Question, body: unknown): unknown {
  if (!isJsonObject(body)) return body
  const masked: Record<string, unknown> = { ...body }
  for (const name of ['accountToken', 'profileToken', 'refreshToken']) {
    const token = masked[name]
    if (typeof token !== 'string' || token === '') continue
    masked[name] = '…'
    if (name === 'refreshToken') session.refreshToken = token
    else if (name === 'profileToken' && person !== undefined) session.tokens.set(String(person), token)
    else if (key === accountTokenKey) session.tokens.set('account', token)
  }
  return masked
}
