import { json, type ProfileStub, type Reply, type Seen, startProfileStub } from './profile-stub.ts'

const api = '/api/v1'

/** Where a stream is read, the name of a record's start there, and of its end. */
const places = {
  scores: ['score', 'scoreDateTime', 'scoreDateTime'],
  biomarkers: ['biomarker', 'startDateTime', 'endDateTime'],
  archetypes: ['archetypes', 'startDateTime', 'endDateTime'],
  trends: ['insight/trend', 'trendStartDateTime', 'trendEndDateTime'],
  comparisons: ['insight/comparison', 'startDateTime', 'endDateTime'],
  tags: ['tag', 'startDateTime', 'endDateTime'],
} as const

export type PeerStream = keyof typeof places
type Item = Record<string, unknown>

/**
 * A small Profile Service whose every record and every moment is the test's: it holds what it is given, serves windows
 * as the interface says, keeps what is uploaded, and stops where it is told to.
 */
export type Peer = ProfileStub & {
  /** What is served of a person's stream from now on. */
  give(externalId: string, stream: PeerStream, records: readonly object[]): void
  /** Every log that was taken, by id, with how often it came. */
  readonly logs: Map<string, { body: Item; times: number }>
  demographics: Item | undefined
  /** Requests for a stream, oldest first, as [externalId, start, end]. */
  asked(stream: PeerStream): string[][]
  /** Answers the next request that matches only when released; resolves `reached` when it has come. */
  hold(matches: (seen: Seen) => boolean, when?: 'before' | 'after'): Held
}

export type Held = { readonly reached: Promise<void>; release(): void }

export const isReadOf = (stream: PeerStream, externalId?: string) => (seen: Seen) =>
  seen.method === 'GET' && seen.path.startsWith(`${api}/profile/${places[stream][0]}/${externalId ?? ''}`)
export const isUpload = (seen: Seen) => seen.method === 'POST' && seen.path === `${api}/profile/data/log`

export async function startPeer(): Promise<Peer> {
  const stub = await startProfileStub()
  const held = new Map<string, readonly Item[]>()
  const logs: Peer['logs'] = new Map()
  const gates: Array<{ matches: (seen: Seen) => boolean; when: string; open: Promise<void>; reach: () => void }> = []
  const peer: Peer = Object.assign(stub, {
    logs,
    demographics: undefined,
    give(externalId: string, stream: PeerStream, records: readonly object[]) {
      stub.profiles.add(externalId)
      held.set(
        `${places[stream][0]}/${externalId}`,
        records.map((record) => ({ ...record })),
      )
    },
    asked: (stream: PeerStream) =>
      stub.seen.filter(isReadOf(stream)).map((seen) => {
        const url = new URL(seen.path, stub.url)
        const externalId = decodeURIComponent(url.pathname.split('/').at(-1) ?? '')
        return [externalId, url.searchParams.get('startDateTime') ?? '', url.searchParams.get('endDateTime') ?? '']
      }),
    hold(matches: (seen: Seen) => boolean, when = 'before') {
      const gate = Promise.withResolvers<void>()
      const came = Promise.withResolvers<void>()
      gates.push({ matches, when, open: gate.promise, reach: came.resolve })
      return { reached: came.promise, release: gate.resolve }
    },
  })

  const answer = (seen: Seen): Reply => {
    const url = new URL(seen.path, stub.url)
    const path = url.pathname.replace(`${api}/`, '')
    if (path === 'account/profile/search') return search([...stub.profiles], url)
    if (path === 'profile' && seen.method === 'DELETE') return remove(JSON.parse(seen.body).externalIds)
    if (path === 'profile/data/log') return take(JSON.parse(seen.body))
    if (path === 'profile/demographic') return demographic(seen)
    if (path === 'profile/deviceInformation') return { status: 204 }
    const externalId = decodeURIComponent(path.split('/').at(-1) ?? '')
    if (!stub.profiles.has(externalId)) return json(404, { title: 'Not Found' })
    return read(path.replace('profile/', ''), url)
  }
  const remove = (externalIds: string[]): Reply => {
    for (const externalId of externalIds) {
      stub.profiles.delete(externalId)
      for (const key of held.keys()) if (key.endsWith(`/${externalId}`)) held.delete(key)
    }
    return { status: 204 }
  }
  const take = (items: Item[]): Reply => {
    for (const body of items)
      logs.set(String(body['id']), { body, times: (logs.get(String(body['id']))?.times ?? 0) + 1 })
    return json(200, { received: items.length, accepted: items.length, updated: 0, duplicates: 0 })
  }
  const demographic = (seen: Seen): Reply => {
    if (seen.method !== 'GET') peer.demographics = { ...peer.demographics, ...JSON.parse(seen.body) }
    return peer.demographics ? json(200, peer.demographics) : { status: 204 }
  }
  const read = (key: string, url: URL): Reply => {
    const place = Object.values(places).find(([name]) => key.startsWith(`${name}/`))
    const [start, end] = ['startDateTime', 'endDateTime'].map((name) => Date.parse(url.searchParams.get(name) ?? ''))
    const records = (held.get(decodeURIComponent(key)) ?? []).filter((record) => {
      const from = Date.parse(String(record[place?.[1] ?? '']))
      const to = Date.parse(String(record[place?.[2] ?? ''] ?? record[place?.[1] ?? '']))
      return !(from > (end ?? 0)) && !(to < (start ?? 0))
    })
    return records.length === 0 ? { status: 204 } : json(200, records)
  }

  const givenAnswer = stub.before
  stub.answer = answer
  stub.before = async (seen) => {
    const index = gates.findIndex((gate) => gate.matches(seen))
    const [gate] = index < 0 ? [] : gates.splice(index, 1)
    if (!gate) return givenAnswer(seen)
    // Held after: upstream has made its answer, and the world goes on before it is sent.
    const made = gate.when === 'after' ? answer(seen) : undefined
    gate.reach()
    await gate.open
    return made
  }
  return peer
}

function search(profiles: readonly string[], url: URL): Reply {
  const page = Number(url.searchParams.get('currentPage') ?? 1)
  const size = Number(url.searchParams.get('pageSize') ?? 20)
  if (page < 1) return json(400, { title: 'Bad Request' })
  const items = profiles.slice((page - 1) * size, page * size).map((externalId) => ({ externalId }))
  const totalPages = Math.ceil(profiles.length / size)
  return json(200, { items, currentPage: page, totalPages, pageSize: size, totalCount: profiles.length })
}
