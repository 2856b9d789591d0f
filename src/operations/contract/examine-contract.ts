import type { PulledStream } from '../../pipeline/transfer/stream.ts'
import { accessPoints, accountTokenKey } from './access-points.ts'
import { type AskOptions, askUpstream, REQUESTS_MAX } from './ask-upstream.ts'
import { type ContractPoint, type Deviation, isOk, type Question, type Seen } from './contract-point.ts'
import { headerPoints } from './header-points.ts'
import { streamPoints } from './stream-points.ts'
import { shapeOfStream } from './stream-shapes.ts'
import { writePoints } from './write-points.ts'

/** `unseen`: the answers did not show it. */
export type PointState = 'as specified' | 'harmless' | 'harmful' | 'unseen'

/** One point of the report. It holds no secret, no name of a person and no value of a record. */
export type PointReport = {
  readonly point: string
  readonly state: PointState
  readonly specified: string
  readonly says: readonly string[]
  /** The request to repeat, with words in place of names and secrets. */
  readonly request?: string
  readonly setting?: string
}

export type ContractReport = Awaited<ReturnType<typeof examineContract>>

/** All points, for the streams of the catalogue. A further point is a further entry of one of these lists. */
export function contractPoints(
  streams: readonly PulledStream[],
  { writes }: { writes: boolean },
): readonly ContractPoint[] {
  return [...accessPoints, ...streams.flatMap(streamPoints), ...headerPoints, ...(writes ? writePoints : [])]
}

/** How many requests an examination sends at most. */
export const requestsPlanned = (points: readonly ContractPoint[]): number =>
  Math.min(
    REQUESTS_MAX,
    points.reduce((sum, { requestsMax = 0 }) => sum + requestsMax, 0),
  )

export async function examineContract(
  streams: readonly PulledStream[],
  options: AskOptions & { readonly writes: boolean },
) {
  const points = contractPoints(streams, options)
  const seen = await askUpstream(points, options)
  const token = seen.answer(accountTokenKey)
  return {
    /** Whether upstream gave an account token; undefined: it did not answer at all. */
    isAuthorized: token?.status === undefined ? undefined : isOk(token),
    requests: seen.answers().length,
    people: seen.people,
    points: points.map((point) => reportOf(point, seen)),
    shapes: Object.fromEntries(streams.map((stream) => [stream.name, shapeOfStream(stream, seen)])),
  }
}

function reportOf(point: ContractPoint, seen: Seen): PointReport {
  const { name, specified, setting } = point
  const differences = point.judge(seen)
  const state = stateOf(differences)
  const question = differences?.find((difference) => difference.question)?.question
  return {
    point: name,
    state,
    specified,
    says: [...new Set(differences?.map(({ says }) => says) ?? [])],
    ...(question ? { request: requestText(question) } : {}),
    ...(setting && differences && differences.length > 0 ? { setting } : {}),
  }
}

function stateOf(differences: readonly Deviation[] | undefined): PointState {
  if (differences === undefined) return 'unseen'
  if (differences.length === 0) return 'as specified'
  return differences.some(({ severity }) => severity === 'harmful') ? 'harmful' : 'harmless'
}

function requestText({ operation, query = {}, shownQuery, person, headers = {} }: Question): string {
  const words = Object.entries({ ...query, ...shownQuery }).map(([name, value]) => `${name}=${value}`)
  const named = Object.keys(headers).map((name) => `, with ${name}`)
  const who = typeof person === 'number' ? `, person ${person + 1}` : ''
  return `${operation.method} ${operation.path}${words.length > 0 ? `?${words.join('&')}` : ''}${who}${named.join('')}`
}
