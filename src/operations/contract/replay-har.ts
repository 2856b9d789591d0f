import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { jsonOrUndefined } from '../../base/text/json.ts'
import { MINUTE } from '../../base/time/units.ts'
import type { Har } from './clean-har.ts'

/** Method, path and query, the parameters in the order of their names. */
function keyOf(method: string, text: string): string {
  const url = new URL(text, 'http://upstream.invalid')
  url.searchParams.sort()
  return `${method} ${url.pathname}${url.search}`
}

const windowParameters = ['startDateTime', 'endDateTime']

/** The key of a read without its window. */
function windowlessKeyOf(method: string, text: string): string {
  const url = new URL(text, 'http://upstream.invalid')
  for (const name of windowParameters) url.searchParams.delete(name)
  return keyOf(method, url.href)
}

const instantFields = ['startDateTime', 'scoreDateTime', 'trendStartDateTime', 'createdAt']
const endFields = ['endDateTime', 'trendEndDateTime']

/**
 * The answer about a window that was not recorded, of all windows of the same path that were: a sync asks for windows by its own clock,
 * and the dates of a clean session are others than those of its recording. A record belongs to each window that it touches.
 */
function windowAnswerOf(records: readonly unknown[], text: string): unknown[] | undefined {
  const { searchParams } = new URL(text, 'http://upstream.invalid')
  const [startMs = Number.NaN, endMs = Number.NaN] = windowParameters.map((name) =>
    Date.parse(searchParams.get(name) ?? ''),
  )
  if (Number.isNaN(startMs) || Number.isNaN(endMs)) return undefined
  return records.filter((record) => {
    const field = (names: readonly string[]) =>
      names.map((name) => Date.parse(String(Object(record)[name]))).find(Number.isFinite)
    const fromMs = field(instantFields)
    return fromMs === undefined || (fromMs <= endMs && (field(endFields) ?? fromMs) >= startMs)
  })
}

/** By the key without the window, the different records of all windows that were recorded. */
function recordsOfWindows(entries: Har['log']['entries']): ReadonlyMap<string, readonly unknown[]> {
  const byKey = Map.groupBy(entries, ({ request }) => windowlessKeyOf(request.method, request.url))
  const recordsByKey = new Map<string, readonly unknown[]>()
  for (const [key, recorded] of byKey) {
    const answers = recorded.flatMap(({ response: { status, content } }) => {
      if (status !== 200 && status !== 204) return []
      const body: unknown = status === 204 ? [] : jsonOrUndefined(textOf(content).toString('utf8'))
      return Array.isArray(body) ? [body] : []
    })
    if (answers.length === 0) continue
    recordsByKey.set(key, [...new Map(answers.flat().map((record) => [JSON.stringify(record), record])).values()])
  }
  return recordsByKey
}

const textOf = ({ text = '', encoding }: Har['log']['entries'][number]['response']['content']) =>
  Buffer.from(text, encoding === 'base64' ? 'base64' : 'utf8')

/** Headers that speak of the recording's connection, or that the server sets. */
const leftOut = /^(:|connection|content-length|content-encoding|transfer-encoding|keep-alive|date|set-cookie|location)/i

/**
 * Serves a recorded session on loopback. A request that was recorded several times gets the answers in their order, and the last one from
 * then on. A window that was not recorded is answered from those that were. Another request that was not recorded gets 404, and is handed
 * to `onUnknown`. Credentials are not checked.
 */
export async function replayHar(
  har: Har,
  { port, onUnknown }: { readonly port: number; onUnknown(request: string): void },
): Promise<{ readonly url: string; close(): Promise<void> }> {
  const recorded = Map.groupBy(har.log.entries, ({ request }) => keyOf(request.method, request.url))
  const recordsByKey = recordsOfWindows(har.log.entries)
  const server = createServer({ requestTimeout: MINUTE, maxHeaderSize: 16_384 }, (request, response) => {
    request.resume() // a body says nothing: requests are matched without it
    const key = keyOf(request.method ?? 'GET', request.url ?? '/')
    const waiting = recorded.get(key)
    const answer = (waiting && waiting.length > 1 ? waiting.shift() : waiting?.[0])?.response
    if (!answer) {
      const known = recordsByKey.get(windowlessKeyOf(request.method ?? 'GET', request.url ?? '/'))
      const records = known && windowAnswerOf(known, request.url ?? '/')
      if (records) {
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(records))
        return
      }
      onUnknown(key)
      const body = { title: `not recorded: ${key}`, statusCode: 404, location: 'replay', errors: [] }
      response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify(body))
      return
    }
    for (const { name, value } of answer.headers) if (!leftOut.test(name)) response.setHeader(name, value)
    const body = textOf(answer.content)
    if (body.length > 0 && !response.hasHeader('content-type')) response.setHeader('content-type', 'application/json')
    response.writeHead(answer.status).end(body)
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
  const { port: listening } = server.address() as AddressInfo // of a server that listens on TCP
  return {
    url: `http://127.0.0.1:${listening}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
