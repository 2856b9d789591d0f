import { type IncomingHttpHeaders, request } from 'node:http'

type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: string }

/** Sends a request with any headers, as no browser would. */
export function send(
  url: string,
  { method = 'GET', body = '', ...given }: Record<string, string> = {},
  signal?: AbortSignal,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', ...given }
    const sent = request(url, { method, headers, ...(signal && { signal }) }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }))
    })
    sent.once('error', reject)
    sent.end(body)
  })
}

/** Asks for the session, as a page does when it is loaded. */
export const readSession = (page: string, given: Record<string, string> = {}) =>
  send(`${page}/api/session/read`, { method: 'POST', body: '{}', origin: new URL(page).origin, ...given })

/** The cookie and the token with which a visitor of the page at this address asks and acts. */
export async function openSession(page: string) {
  const { headers, body } = await readSession(page)
  const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  return { cookie, 'x-csrf-token': JSON.parse(body).csrf, origin: new URL(page).origin, method: 'POST' }
}

/** Headers by which proxies and networks of delivery name the caller. */
export const forwardedHeaders = [
  'forwarded',
  'via',
  'cdn-loop',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-original-forwarded-for',
  'x-real-ip',
  'cf-connecting-ip',
  'cf-connecting-ipv6',
  'true-client-ip',
  'fastly-client-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-appengine-user-ip',
  'x-azure-clientip',
  'x-envoy-external-address',
]
