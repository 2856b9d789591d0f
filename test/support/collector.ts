import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type ReceivedSpan = {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly process: string
  readonly attributes: ReadonlyArray<{ key: string; value: Record<string, unknown> }>
  readonly links?: ReadonlyArray<{ traceId: string; spanId: string }>
}

type Collected = {
  readonly spans: ReceivedSpan[]
  /** The bodies as they came. */
  readonly texts: string[]
  /** The names of the metrics, by the process that sent them. */
  readonly metrics: Map<string, Set<string>>
  readonly headers: unknown[]
}

/** Takes what an OpenTelemetry collector takes, and keeps it as it came. `answer` is how it says so; port 0 takes a free one. */
export async function startCollector(answer: (response: ServerResponse) => void = accept, port = 0) {
  const collected: Collected = { spans: [], texts: [], metrics: new Map(), headers: [] }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    collected.headers.push(request.headers.authorization)
    keep(collected, text)
    answer(response)
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, server, ...collected, close: () => server.close().closeAllConnections() }
}

const accept = (response: ServerResponse) => void response.end('{}')

function keep({ spans, texts, metrics }: Collected, text: string): void {
  texts.push(text)
  const body = JSON.parse(text)
  for (const { resource, scopeSpans } of body.resourceSpans ?? [])
    for (const scope of scopeSpans)
      for (const span of scope.spans) spans.push({ ...span, process: processOf(resource) })
  for (const { resource, scopeMetrics } of body.resourceMetrics ?? []) {
    const names = metrics.get(processOf(resource)) ?? new Set()
    metrics.set(processOf(resource), names)
    for (const scope of scopeMetrics) for (const { name } of scope.metrics) names.add(name)
  }
}

type Resource = { readonly attributes: ReadonlyArray<{ key: string; value: { stringValue: string } }> }

const processOf = ({ attributes }: Resource) =>
  attributes.find(({ key }) => key === 'service.name')?.value.stringValue ?? ''
