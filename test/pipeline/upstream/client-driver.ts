import { randomUUID } from 'node:crypto'
import { pulledStreams } from '../../../config/streams.ts'
import { type OperationName, operations } from '../../../src/base/contract/operations.ts'
import { NotThere, Problem, Rejected } from '../../../src/base/errors.ts'
import { DAY } from '../../../src/base/time/units.ts'
import type { ProfileIds } from '../../../src/pipeline/transfer/planned-profile.ts'
import type { UpstreamApi } from '../../../src/pipeline/upstream/api.ts'
import type { HttpRequest, Transport } from '../../../src/pipeline/upstream/http.ts'
import { openTransport } from '../../../src/pipeline/upstream/transport.ts'
import type {
  ConformanceDriver,
  ConformanceInput,
  ConformanceOutcome,
  ConformancePerson,
} from '../../support/conformance.ts'
import { pushedByName } from '../../support/stream-by-name.ts'
import { nightlyCall, openTestUpstream } from '../../support/test-upstream.ts'

/** A request that was sent, and what came; no status where nothing did. */
export type Sent = Pick<HttpRequest, 'method' | 'path'> & { status: number | undefined }

export function recording(transport: Transport, sent: Sent[]): Transport {
  return {
    async send(request) {
      const noted: Sent = { method: request.method, path: request.path, status: undefined }
      sent.push(noted)
      const answer = await transport.send(request)
      noted.status = answer.status
      return answer
    },
    close: () => transport.close(),
  }
}

/** Which of the 28 operations a request was. */
export function operationOf({ method, path }: Pick<Sent, 'method' | 'path'>): OperationName | undefined {
  const plain = path.split('?')[0] ?? ''
  const fits = Object.entries(operations).filter(([, operation]) => {
    const pattern = new RegExp(`^${operation.path.replace('{externalId}', '[^/]+')}$`)
    return operation.method === method && pattern.test(plain)
  })
  // `search` could be an externalId, and `appId` could not: the longest literal path is meant.
  fits.sort(([, one], [, two]) => Number(one.path.includes('{')) - Number(two.path.includes('{')))
  return fits[0]?.[0] as OperationName | undefined
}

/** The credentials of an app, and how its requests are sent. */
type App = { url: string; appId: string; appSecret: string; sent: Sent[] }

type Call = (
  api: UpstreamApi,
  asked: { person: ConformancePerson; name: ProfileIds; input: ConformanceInput; externalId: string; app: App },
  operation: OperationName,
) => Promise<unknown>

/** The streams by the operations that read them: in either form the row says what to ask for and what a record is. */
const reads: Call = async (api, { name, input, externalId }, operation) => {
  const stream = pulledStreams.find(({ name, operation: { path } }) => {
    return name === operation.replace(/Of$/, '') || path === operations[operation].path
  })
  if (!stream) throw new Error(`no stream is read by ${operation}`)
  const query = () => Object.fromEntries(Object.entries(input.query ?? {}).map(([key, value]) => [key, String(value)]))
  const target = { ...name, externalId, window: { startMs: 0, endMs: DAY } } // the query says what the window would
  const { records } = await api.read({ ...stream, operation: operations[operation], query }, target, nightlyCall)
  if (records.length === 0) return undefined
  return stream.kind === 'snapshot' ? records[0]?.fields : records.map(({ fields }) => fields)
}

const streamsPushedBy = {
  uploadLogs: 'data-logs',
  uploadTags: 'tags',
  uploadTagsOf: 'tags',
  replaceDemographic: 'demographics',
  updateDemographic: 'demographics',
  updateDeviceInformation: 'device-information',
} as const

/** Pushes by this operation, whichever one the stream's row names. */
export function pushBy(
  name: keyof typeof streamsPushedBy,
  api: UpstreamApi,
  { profile, body }: { profile: ProfileIds; body: unknown },
): Promise<unknown> {
  const operation = operations[name]
  const stream = pushedByName(streamsPushedBy[name])
  if (stream.kind === 'snapshot')
    return api.pushSnapshot(profile, { operation, schema: stream.schema, body: body as object }, nightlyCall)
  return api.pushItems(profile, { stream: { ...stream, operation }, items: body as readonly object[] }, nightlyCall)
}

const pushes: Call = (api, { name, input: { body }, externalId }, operation) =>
  pushBy(operation as keyof typeof streamsPushedBy, api, { profile: { ...name, externalId }, body })

/** How each operation is asked for by the client's typed function for it. */
const calls: Record<OperationName, Call> = {
  accountToken: (api) => api.accountToken(nightlyCall),
  register: (api, { externalId }) => api.register(externalId, nightlyCall),
  registerByApp: (_, { app, externalId }) => registerByApp(app, externalId),
  profileToken: (api, { input, externalId }) => api.profileToken({ externalId, ...Object(input.body) }, nightlyCall),
  refreshToken: (api, { input, person }) =>
    api.refreshToken({ profileToken: person.profileToken, ...(input.body as { refreshToken: string }) }, nightlyCall),
  profile: (api, { externalId }) => api.profile(externalId, nightlyCall),
  searchProfiles: (api, { input }) =>
    api.searchProfiles({ currentPage: 1, pageSize: 20, ...(input.query as { searchParameter?: string }) }, nightlyCall),
  deleteProfiles: (api, { input }) =>
    api.deleteProfiles((input.body as { externalIds: string[] }).externalIds, nightlyCall),
  uploadLogs: pushes,
  uploadTags: pushes,
  uploadTagsOf: pushes,
  replaceDemographic: pushes,
  updateDemographic: pushes,
  updateDeviceInformation: pushes,
  scores: reads,
  scoresOf: reads,
  biomarkers: reads,
  biomarkersOf: reads,
  archetypes: reads,
  archetypesOf: reads,
  trends: reads,
  trendsOf: reads,
  comparisons: reads,
  comparisonsOf: reads,
  tags: reads,
  tagsOf: reads,
  demographic: reads,
  deviceInformation: reads,
}

type World = {
  upstream: { api: UpstreamApi }
  sandbox: { url: string; clientId: string; clientSecret: string; appId: string; appSecret: string }
  sent: Sent[]
  /** The externalId of one whose data is derived. */
  somebody: string
}

/** The list of cases through our client: the status is what the transport saw, the body what the typed function gave. */
export function driverOf({ upstream: { api }, sandbox, sent, somebody }: World): ConformanceDriver {
  const personNamed = async (externalId: string): Promise<ConformancePerson> => {
    const { profileToken, refreshToken = '' } = await api.profileToken({ externalId }, nightlyCall)
    return { externalId, profileToken, refreshToken }
  }
  return {
    async newcomer() {
      const externalId = `newcomer-${randomUUID()}`
      await api.register(externalId, nightlyCall)
      return personNamed(externalId)
    },
    somebody: () => personNamed(somebody),
    ask: (operation, person, input) => ask({ api, app: { ...sandbox, sent } }, { operation, person, input }),
    async askAsStranger(operation, person, input) {
      const { url, clientId, clientSecret, appId } = sandbox
      const made: Sent[] = []
      const credentials = { clientId, clientSecret: operation === 'accountToken' ? 'made-up' : clientSecret }
      const app = { url, appId, appSecret: 'made-up', sent: made }
      const transport = () => garbling(recording(openTransport(url), made), operation)
      const stranger = openTestUpstream({ url, credentials, openTransport: transport })
      try {
        const { status, error } = await send({ api: stranger.upstream.api, app }, { operation, person, input })
        if (!(error instanceof Problem)) throw new Error(`${operation} was answered to a stranger, or failed oddly`)
        return status
      } finally {
        await stranger.close()
      }
    },
  }
}

type Asking = { operation: OperationName; person: ConformancePerson; input: ConformanceInput }
type Answered = { status: number; body?: unknown; error?: unknown }

async function send({ api, app }: { api: UpstreamApi; app: App }, asking: Asking): Promise<Answered> {
  const { operation, person, input } = asking
  const name = { profileId: person.externalId, externalId: person.externalId }
  const from = app.sent.length
  const externalId = input.externalId ?? person.externalId
  const given = await calls[operation](api, { person, name, input, externalId, app }, operation).then(
    (body) => ({ body }),
    (error: unknown) => ({ error }),
  )
  const seen = app.sent.slice(from).findLast((request) => operationOf(request) === operation)
  return { status: seen?.status ?? 0, ...given }
}

async function ask(world: { api: UpstreamApi; app: App }, asking: Asking): Promise<ConformanceOutcome> {
  const { status, body, error } = await send(world, asking)
  if (error === undefined) return { status, body }
  // The thrown error must say the same as the answer did.
  const said = error instanceof NotThere ? 404 : error instanceof Rejected ? error.status : 0
  if (said !== status) throw error
  return { status, body: undefined }
}

/** The one operation that the client does not have, because it needs the credentials of an app. */
async function registerByApp({ url, appId, appSecret, sent }: App, externalId: string): Promise<unknown> {
  const { method, path } = operations.registerByApp
  const headers = ['AppId', appId, 'AppSecret', appSecret, 'content-type', 'application/json']
  const transport = recording(openTransport(url), sent)
  try {
    const { status, body } = await transport.send({ method, path, headers, body: JSON.stringify({ externalId }) })
    if (status >= 300) throw new Rejected('call registerByApp', { status })
    return JSON.parse(body.toString())
  } finally {
    await transport.close()
  }
}

/** Replaces the token of every request of one operation by one that nobody issued, however often it is renewed. */
function garbling(transport: Transport, operation: OperationName): Transport {
  return {
    send(request) {
      if (operationOf(request) !== operation) return transport.send(request)
      const headers = request.headers.map((text) => text.replace(/^(account|profile) \S+$/, '$1 made-up'))
      return transport.send({ ...request, headers })
    },
    close: () => transport.close(),
  }
}
