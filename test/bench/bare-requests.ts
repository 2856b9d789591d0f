import { Pool } from 'undici'

type BareRequests = {
  readonly inFlight: number
  readonly requests: number
  /** Sends the request of this number and reads its answer to the end. */
  send(http: Pool, at: number): Promise<unknown>
}

/** Requests a second of a client that keeps nothing: as many in flight as it may, from the first to the last. */
export async function measureBareRequests(url: string, { inFlight, requests, send }: BareRequests): Promise<number> {
  const http = new Pool(url, { connections: inFlight, pipelining: 1 })
  let next = 0
  const worker = async () => {
    for (let at = next++; at < requests; at = next++) await send(http, at)
  }
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: inFlight }, worker))
  const seconds = (performance.now() - startedAt) / 1000
  await http.close()
  return requests / seconds
}
