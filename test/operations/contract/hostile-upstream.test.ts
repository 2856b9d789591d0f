import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { pulledStreams } from '../../../config/streams.ts'
import { DAY } from '../../../src/base/time/units.ts'
import { examineContract } from '../../../src/operations/contract/examine-contract.ts'

type Answer = (path: string, response: ServerResponse) => void

/** An upstream that gives tokens and finds one person, and answers reads as the test says. */
async function hostile(answer: Answer): Promise<string> {
  const server = createServer((request, response) => {
    const { url: path = '' } = request
    const json = (body: unknown) => response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
    if (path.includes('/account/token')) return json({ accountToken: 'token', expiresIn: 86_400, tokenType: 'Account' })
    if (path.includes('/profile/token')) return json({ profileToken: 'token' })
    if (path.includes('/search')) return json({ items: [{ externalId: 'ada' }] })
    answer(path, response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const examine = (url: string) =>
  examineContract(pulledStreams, {
    upstream: { url, clientId: 'id', clientSecret: 'secret' },
    people: [],
    requestsPerSecond: 100_000,
    signal: AbortSignal.timeout(100_000),
    writes: false,
  })

const says = async (answer: Answer, point = 'scores: answers') => {
  const report = await examine(await hostile(answer))
  const found = report.points.find((candidate) => candidate.point === point)
  return `${found?.state}: ${found?.says.join('; ')}`
}

test('an answer of nothing but brackets is no list of records', async () => {
  const nested = '['.repeat(200_000) + ']'.repeat(200_000)
  expect(await says((_, response) => response.end(nested), 'scores: fields')).toBe('unseen: ')
})

test('an answer without end is given up', async () => {
  const piece = 'x'.repeat(1024 * 1024)
  const endless: Answer = (path, response) => {
    if (!path.includes('/score/')) return void response.writeHead(204).end()
    const write = () => response.write(piece, (error) => (error ? undefined : write()))
    write()
  }
  expect(await says(endless)).toBe('harmful: it answers no answer (oversized)')
})

test('a connection that breaks is an answer that did not come', async () => {
  expect(await says((_, response) => response.destroy())).toBe('harmful: it answers no answer (lost)')
})

test('keys and words that look like data are folded, and many are cut', async () => {
  const record = {
    ...Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`user-${n}@example.org`, n])),
    '2026-01-31': 1,
    ada4711: 2,
    type: 'Ada Lovelace, born 1815',
    createdAt: '2026-01-31T00:00:00Z',
  }
  const report = await examine(await hostile((_, response) => response.end(JSON.stringify([record, null, 'x']))))
  const text = JSON.stringify(report)
  expect(text).not.toMatch(/example|2026-01-31|4711|Lovelace/)
  expect(report.points.find(({ point }) => point === 'scores: fields')?.says[0]).toMatch(/^further fields.*: \*$/)
})

test('a redirect is followed nowhere, and the setting is named', async () => {
  const report = await examine(
    await hostile((_, response) => response.writeHead(302, { location: 'https://elsewhere.example/' }).end()),
  )
  expect(report.points.find(({ point }) => point === 'redirects')).toMatchObject({
    state: 'harmful',
    setting: expect.stringContaining('UPSTREAM_URL'),
  })
  expect(JSON.stringify(report)).not.toContain('elsewhere')
})

test('an upstream that is busy is waited for once', async () => {
  let asked = 0
  const busy: Answer = (path, response) => {
    asked += Number(path.includes('/score/'))
    response.writeHead(path.includes('/score/') && asked === 1 ? 429 : 204, { 'retry-after': '0' }).end()
  }
  expect(await says(busy, 'Retry-After')).toBe('as specified: ')
})

test('a record that is derived between two questions is no cut page', async () => {
  let asked = 0
  const nowMs = Date.now()
  const score = (day: number) => ({ type: 'sleep', scoreDateTime: new Date(nowMs - day * DAY).toISOString() })
  const growing: Answer = (path, response) => {
    if (!path.includes('/score/')) return void response.writeHead(204).end()
    asked += 1
    response.end(JSON.stringify(asked === 1 ? [score(3)] : [score(2), score(3)]))
  }
  expect(await says(growing, 'scores: whole answers')).toBe('as specified: ')
})
