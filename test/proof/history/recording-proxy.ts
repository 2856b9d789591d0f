import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { operations } from '../../../src/base/contract/operations.ts'
import { createHeldAnswers, type HeldAnswers } from './held-answers.ts'
import type { History, HistoryEvent, ItemVersion, Outcome } from './history.ts'
import { beforeName, comparedStreams, heldRecord, shortDigest } from './records.ts'

export type RecordingProxy = {
  /** One address for all: tokens are kept by the address of the service. */
  readonly url: string
  readonly held: HeldAnswers
  close(): Promise<void>
}

type ProxyOptions = {
  readonly serviceUrl: string
  readonly history: History
  /** Whether answers to the connection from this port are lost on their way to the fleet. */
  isLostTo(port: number | undefined): boolean
  /** The version of an item of the harness; undefined of items of others. */
  readonly versionOf: (log: Readonly<Record<string, unknown>>) => ItemVersion | undefined
}

type Exchange = {
  readonly method: string
  readonly url: URL
  readonly body: string
  readonly sentAtMs: number
  readonly answeredAtMs: number
  /** The caller had not hung up when the answer came, and the way to it was open. */
  readonly isHeard: boolean
  /** Undefined: the service broke off before its answer was whole. */
  readonly answer: { readonly status: number; readonly etag: string | undefined; readonly body: string } | undefined
}

/**
 * Stands between the fleet and the Profile Service and records each request with the answer of the service.
 */
export async function openRecordingProxy(options: ProxyOptions): Promise<RecordingProxy> {
  const agent = new Agent({ keepAlive: true })
  const held = createHeldAnswers()
  const note = createNotes(options)
  const server = createServer((incoming, outgoing) => {
    forward({ ...options, agent, held }, incoming, outgoing).then(note, () => outgoing.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    held,
    async close() {
      server.close()
      server.closeAllConnections()
      agent.destroy()
    },
  }
}

type Forwarding = ProxyOptions & { readonly agent: Agent; readonly held: HeldAnswers }

async function forward(
  { serviceUrl, agent, held, isLostTo }: Forwarding,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<Exchange> {
  outgoing.on('error', () => undefined) // the caller has gone; the service's answer is noted all the same
  const { method = 'GET' } = incoming
  const url = new URL(incoming.url ?? '/', serviceUrl)
  const { 'accept-encoding': _, host: __, ...headers } = incoming.headers // answers are read here, so not packed
  const sentAtMs = Date.now()
  const body = await textOf(incoming)
  const exchange = { method, url, body, sentAtMs }
  const sent = request(url, { method, headers, agent })
  sent.end(body)
  let settle: ((isHeard: boolean) => void) | undefined
  try {
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    settle = answer.statusCode === 200 ? await held.pass({ path: url.pathname, sentAtMs }) : undefined
    const answeredAtMs = Date.now()
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
    const text = await textOf(answer, outgoing)
    const isHeard = !outgoing.destroyed && !isLostTo(incoming.socket.remotePort)
    outgoing.end()
    settle?.(isHeard)
    const { statusCode = 0, headers } = answer
    const whole = { status: statusCode, etag: headers.etag, body: text }
    return { ...exchange, answeredAtMs, isHeard, answer: whole }
  } catch {
    outgoing.destroy()
    settle?.(false)
    return { ...exchange, answeredAtMs: Date.now(), isHeard: false, answer: undefined }
  }
}

/** The whole text; each part is handed on at once. */
async function textOf(from: IncomingMessage, to?: ServerResponse): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of from) {
    parts.push(part)
    to?.write(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

const operationOf = ({ method, url }: Exchange, name: keyof typeof operations): boolean =>
  method === operations[name].method && url.pathname === operations[name].path

/** Turns exchanges into events. Remembers which answer an ETag stands for, and whose a profile's token is. */
function createNotes({ history, versionOf }: ProxyOptions): (exchange: Exchange) => void {
  const tagged = new Map<string, Extract<HistoryEvent, { kind: 'reading' }>['records']>()
  const owners = new Map<string, string>()

  const noteToken = (exchange: Exchange, call: 'account' | 'profile' | 'refresh') => {
    const asked = parse(exchange.body)
    const given = parse(exchange.answer?.body ?? '')
    const former = owners.get(String(asked['profileToken']))
    const name = call === 'account' ? 'account' : call === 'profile' ? String(asked['externalId']) : former
    if (name === undefined) return
    if (typeof given['profileToken'] === 'string') owners.set(given['profileToken'], name)
    const spent = call === 'refresh' ? shortDigest(String(asked['refreshToken'])) : undefined
    const hasToken = typeof given['profileToken'] === 'string' || typeof given['accountToken'] === 'string'
    // A caller whose connection broke asks again under the same lease.
    const outcome = outcomeOf(exchange, hasToken && exchange.isHeard)
    history.add({ kind: 'token', name, call, ...(spent ? { spent } : {}), outcome, ...timesOf(exchange) })
  }

  const noteReading = (exchange: Exchange) => {
    const { url, answer } = exchange
    const stream = comparedStreams.find(({ operation }) => url.pathname.startsWith(beforeName(operation.path)))
    if (!stream || !answer || exchange.method !== 'GET') return
    const profile = decodeURIComponent(url.pathname.slice(beforeName(stream.operation.path).length))
    const tag = `${url.href} ${answer.etag}`
    const records = answer.status === 304 ? tagged.get(tag) : recordsOf(stream, answer)
    if (records === undefined) return
    if (answer.etag !== undefined) tagged.set(tag, records)
    const [startMs = 0, endMs = 0] = ['startDateTime', 'endDateTime'].map((name) =>
      Date.parse(url.searchParams.get(name) ?? ''),
    )
    history.add({ kind: 'reading', profile, stream: stream.name, startMs, endMs, records, ...timesOf(exchange) })
  }

  return (exchange) => {
    if (operationOf(exchange, 'accountToken')) return noteToken(exchange, 'account')
    if (operationOf(exchange, 'profileToken')) return noteToken(exchange, 'profile')
    if (operationOf(exchange, 'refreshToken')) return noteToken(exchange, 'refresh')
    if (operationOf(exchange, 'register')) return rememberOwner(owners, exchange)
    if (!operationOf(exchange, 'uploadLogs')) return noteReading(exchange)
    const items = parseList(exchange.body).flatMap((log) => versionOf(log) ?? [])
    history.add({ kind: 'push', items, outcome: outcomeOf(exchange, true), ...timesOf(exchange) })
  }
}

/** A registration comes with the first token of the person. */
function rememberOwner(owners: Map<string, string>, { body, answer }: Exchange): void {
  const token = parse(answer?.body ?? '')['profileToken']
  if (typeof token === 'string') owners.set(token, String(parse(body)['externalId']))
}

const timesOf = ({ sentAtMs, answeredAtMs }: Exchange) => ({ sentAtMs, answeredAtMs })

function outcomeOf({ answer }: Exchange, isWhole: boolean): Outcome {
  if (!answer || (answer.status < 300 && !isWhole)) return 'unknown'
  return answer.status < 300 ? 'acknowledged' : answer.status < 500 ? 'refused' : 'unknown'
}

/** Undefined: no records, but an error, or a text that is no JSON. */
function recordsOf(stream: (typeof comparedStreams)[number], { status, body }: { status: number; body: string }) {
  if (status === 204) return []
  if (status !== 200) return undefined
  const records = parseList(body)
  return records.length > 0 ? records.map((record) => heldRecord(stream, record)) : undefined
}

type Fields = Readonly<Record<string, unknown>>

function parse(text: string): Fields {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}

const parseList = (text: string): Fields[] => [parse(text)].flat().filter((one) => Object.keys(one).length > 0)
