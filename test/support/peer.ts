import { hash } from 'node:crypto'
import { json, type ProfileStub, type Reply, type Seen, startProfileStub } from './profile-stub.ts'

const api = '/api/v1'

/** The path of a stream, and the names of a record's start and end. */
const streamPaths = {
  scores: ['score', 'scoreDateTime', 'scoreDateTime'],
  biomarkers: ['biomarker', 'startDateTime', 'endDateTime'],
  archetypes: ['archetypes', 'startDateTime', 'endDateTime'],
  trends: ['insight/trend', 'trendStartDateTime', 'trendEndDateTime'],
  comparisons: ['insight/comparison', 'startDateTime', 'endDateTime'],
  tags: ['tag', 'startDateTime', 'endDateTime'],
} as const

export type PeerStream = keyof typeof streamPaths
type Item = Record<string, unknown>

/**
 * A small Profile Service with records: over the tokens of `ProfileStub` it serves the windows of the records that the test
 * gives it, stores uploads, and holds an answer back until the test releases it.
 */
export type Peer = ProfileStub & {
  /** Replaces the records of a profile's stream. */
  give(externalId: string, stream: PeerStream, records: readonly object[]): void
  /** Every accepted log by its id, with the number of its uploads. */
  readonly logs: Map<string, { body: Item; times: number }>
  demographics: Item | undefined
  /** Answers of reads carry a tag of their content, and a read with the tag of the present content gets a 304. */
  tags: boolean
  /** Requests for a stream, oldest first, as [externalId, start, end]. */
  asked(stream: PeerStream): string[][]
  /** Holds the answer of the next matching request back until it is released; `reached` resolves when the request has come. */
  hold(matches: (seen: Seen) => boolean, when?: 'before' | 'after'): Held
}

type Held = { readonly reached: Promise<void>; release(): void }

export const isReadOf = (stream: PeerStream, externalId?: string) => (seen: Seen) =>
  seen.method === 'GET' && seen.path.startsWith(`${api}/profile/${streamPaths[stream][0]}/${externalId ?? ''}`)
export const isUpload = (seen: Seen) => seen.method === 'POST' && seen.path === `${api}/profile/data/log`

/** The records of each stream of a profile, by `<path>/<externalId>`. */
type StoredRecords = Map<string, readonly Item[]>
type Hold = { matches: (seen: Seen) => boolean; when: string; open: Promise<void>; reach: () => void }

export async function startPeer(): Promise<Peer> {
  const stub = await startProfileStub()
  const stored: StoredRecords = new Map()
  const holds: Hold[] = []
  const peer: Peer = Object.assign(stub, {
    logs: new Map(),
    demographics: undefined,
    tags: false,
    give(externalId: string, stream: PeerStream, records: readonly object[]) {
      stub.profiles.add(externalId)
      stored.set(
        `${streamPaths[stream][0]}/${externalId}`,
        records.map((record) => ({ ...record })),
      )
    },
    asked: (stream: PeerStream) =>
      stub.seen.filter(isReadOf(stream)).map((seen) => askedOf(new URL(seen.path, stub.url))),
    hold(matches: (seen: Seen) => boolean, when = 'before') {
      const released = Promise.withResolvers<void>()
      const reached = Promise.withResolvers<void>()
      holds.push({ matches, when, open: released.promise, reach: reached.resolve })
      return { reached: reached.promise, release: released.resolve }
    },
  })
  const answerFirst = stub.before
  stub.answer = (seen) => tagged(peer, seen, answerOf(peer, stored, seen))
  stub.before = async (seen) => {
    const index = holds.findIndex((hold) => hold.matches(seen))
    const [hold] = index < 0 ? [] : holds.splice(index, 1)
    if (!hold) return answerFirst(seen)
    // Held here, after the answer was made: records may change before it is sent.
    const made = hold.when === 'after' ? tagged(peer, seen, answerOf(peer, stored, seen)) : undefined
    hold.reach()
    await hold.open
    return made
  }
  return peer
}

function tagged({ tags }: Peer, { method, ifNoneMatch }: Seen, reply: Reply): Reply {
  if (!tags || method !== 'GET' || reply.status >= 300) return reply
  const etag = `"${hash('md5', reply.body ?? '')}"`
  return ifNoneMatch === etag ? { status: 304, headers: { etag } } : { ...reply, headers: { ...reply.headers, etag } }
}

function askedOf({ pathname, searchParams }: URL): string[] {
  const externalId = decodeURIComponent(pathname.split('/').at(-1) ?? '')
  return [externalId, searchParams.get('startDateTime') ?? '', searchParams.get('endDateTime') ?? '']
}

function answerOf(peer: Peer, stored: StoredRecords, seen: Seen): Reply {
  const url = new URL(seen.path, peer.url)
  const path = url.pathname.replace(`${api}/`, '')
  if (path === 'account/profile/search') return search([...peer.profiles], url)
  if (path === 'profile' && seen.method === 'DELETE') return remove(peer, stored, JSON.parse(seen.body).externalIds)
  if (path === 'profile/data/log') return storeLogs(peer, JSON.parse(seen.body))
  if (path === 'profile/demographic') return changeOrRead(peer, seen)
  if (path === 'profile/deviceInformation') return { status: 204 }
  const externalId = decodeURIComponent(path.split('/').at(-1) ?? '')
  if (!peer.profiles.has(externalId)) return json(404, { title: 'Not Found' })
  return read(stored, path.replace('profile/', ''), url)
}

function remove({ profiles }: Peer, stored: StoredRecords, externalIds: readonly string[]): Reply {
  for (const externalId of externalIds) {
    profiles.delete(externalId)
    for (const key of stored.keys()) if (key.endsWith(`/${externalId}`)) stored.delete(key)
  }
  return { status: 204 }
}

function storeLogs({ logs }: Peer, items: readonly Item[]): Reply {
  for (const body of items) {
    const id = String(body['id'])
    logs.set(id, { body, times: (logs.get(id)?.times ?? 0) + 1 })
  }
  return json(200, { received: items.length, accepted: items.length, updated: 0, duplicates: 0 })
}

function changeOrRead(peer: Peer, { method, body }: Seen): Reply {
  if (method !== 'GET') peer.demographics = { ...peer.demographics, ...JSON.parse(body) }
  return peer.demographics ? json(200, peer.demographics) : { status: 204 }
}

function read(stored: StoredRecords, key: string, { searchParams }: URL): Reply {
  const [, startName = '', endName = ''] = Object.values(streamPaths).find(([path]) => key.startsWith(`${path}/`)) ?? []
  const [start, end] = ['startDateTime', 'endDateTime'].map((name) => Date.parse(searchParams.get(name) ?? ''))
  const records = (stored.get(decodeURIComponent(key)) ?? []).filter((record) => {
    const from = Date.parse(String(record[startName]))
    const to = Date.parse(String(record[endName] ?? record[startName]))
    return !(from > (end ?? 0)) && !(to < (start ?? 0))
  })
  return records.length === 0 ? { status: 204 } : json(200, records)
}

function search(profiles: readonly string[], url: URL): Reply {
  const page = Number(url.searchParams.get('currentPage') ?? 1)
  const size = Number(url.searchParams.get('pageSize') ?? 20)
  if (page < 1) return json(400, { title: 'Bad Request' })
  const items = profiles.slice((page - 1) * size, page * size).map((externalId) => ({ externalId }))
  const totalPages = Math.ceil(profiles.length / size)
  return json(200, { items, currentPage: page, totalPages, pageSize: size, totalCount: profiles.length })
}
