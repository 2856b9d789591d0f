import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { type IncomingHttpHeaders, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { passwordLine } from '../../../src/web/passwords.ts'
import type { DashboardWorld } from './dashboard-world.ts'

type Answer = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: string }

/** Sends a request with any headers, as no browser would. */
export function send(
  url: string,
  { method = 'GET', body = '', ...headers }: Record<string, string> = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: { 'content-type': 'application/json', ...headers } }, (response) => {
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

/** The cookie and the token with which a visitor sends changes. */
export async function openSession(url: string, more: Record<string, string> = {}) {
  const { headers, body } = await send(`${url}/api/session`, more)
  const cookie = headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  return { ...more, cookie, 'x-csrf-token': JSON.parse(body).csrf, origin: url, method: 'POST' }
}

/** A dashboard that asks for a password: ada may look, and her password is `correct horse battery`. */
export async function serveWithPasswords(world: DashboardWorld): Promise<{ url: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-dashboard-'))
  const file = join(folder, 'passwords')
  await writeFile(file, `${await passwordLine('ada', 'look', 'correct horse battery')}\n`)
  const served = await world.serve({ DASHBOARD_PASSWORD_FILE: file })
  await rm(folder, { recursive: true })
  return served
}
