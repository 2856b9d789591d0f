import { once } from 'node:events'
import { createServer, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A gateway in front of a service, which refuses what it passes on at other times: 400 for paths that contain one of these. */
export function startRefusingGateway(paths: readonly string[]) {
  let isRefusing = false
  let target = ''
  const server = createServer((request, response) => {
    if (isRefusing && paths.some((path) => request.url?.includes(path))) {
      response.writeHead(400, { 'content-type': 'application/json' })
      return void response.end('{"title":"Bad Request"}')
    }
    const { method = 'GET', headers, url = '/' } = request
    const passed = send(new URL(url, target), { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    passed.on('error', () => response.destroy())
    request.pipe(passed)
  })
  return {
    /** Resolves with its address. */
    async open(serviceUrl: string): Promise<string> {
      target = serviceUrl
      server.listen(0, '127.0.0.1')
      await once(server, 'listening')
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    },
    refuse(on: boolean): void {
      isRefusing = on
    },
    close: () => server.close().closeAllConnections(),
  }
}
