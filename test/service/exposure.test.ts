import { expect, test } from 'vitest'
import { freePort } from '../../src/base/engines/embedded-postgres.ts'
import { createLog } from '../../src/base/log.ts'
import { isLoopback } from '../../src/base/text/readable.ts'
import { warnOfExposure } from '../../src/service/http/security-log.ts'
import { startService } from '../../src/service/server.ts'
import { test as withDatabase } from '../support/fixtures.ts'
import { send } from './sandbox/sandbox-world.ts'

const quiet = createLog({ level: 'silent' })

test.for([
  ['127.0.0.1', true],
  ['localhost', true],
  ['::1', true],
  ['127.1.2.3', true],
  ['0.0.0.0', false],
  ['::', false],
  ['192.168.1.5', false],
  ['localhost.evil.example', false],
] as const)('%s is this machine alone: %s', ([host, loopback]) => {
  expect(isLoopback(host)).toBe(loopback)
})

test.for([
  ['127.0.0.1', 'postgres://u:p@127.0.0.1/db', 0],
  ['0.0.0.0', 'postgres://u:p@127.0.0.1/db', 1],
  ['127.0.0.1', 'postgres://u:p@db.example/db', 1],
  ['127.0.0.1', 'postgres://u:p@db.example/db?sslmode=verify-full', 0],
  ['127.0.0.1', 'postgres:///db?host=/run/postgresql', 0],
  ['::', 'postgres://u:p@db.example/db?sslmode=disable', 2],
] as const)('on %s with %s it warns %i times', ([host, databaseUrl, times]) => {
  const lines: string[] = []
  const log = createLog({ level: 'warn', destination: { write: (line: string) => void lines.push(line) } })
  warnOfExposure(log, { host, databaseUrl })

  expect(lines).toHaveLength(times)
  expect(lines.join('')).not.toContain('u:p')
})

withDatabase(
  'metrics are on a port of their own, or nowhere that others reach',
  async ({ serviceUrl: databaseUrl }) => {
    const metricsPort = await freePort()
    const status = async (url: string) => (await fetch(url)).status
    const apart = await startService({ databaseUrl, port: 0, metricsPort, log: quiet })
    try {
      expect(await status(`${apart.url}/metrics`)).toBe(404)
      expect(await status(`http://127.0.0.1:${metricsPort}/metrics`)).toBe(200)
      expect(await status(`http://127.0.0.1:${metricsPort}/health`)).toBe(404)
    } finally {
      await apart.close()
    }
    const open = await startService({ databaseUrl, port: 0, host: '0.0.0.0', log: quiet })
    try {
      expect(await status(`http://127.0.0.1:${new URL(open.url).port}/metrics`)).toBe(404)
    } finally {
      await open.close()
    }
    const here = await startService({ databaseUrl, port: 0, log: quiet })
    try {
      expect(await status(`${here.url}/metrics`)).toBe(200)
      expect((await send(`${here.url}/metrics`, { headers: { host: 'attacker.example' } })).status).toBe(403)
    } finally {
      await here.close()
    }
  },
)

withDatabase('every answer is kept from caches, sniffing and frames', async ({ serviceUrl: databaseUrl }) => {
  const service = await startService({ databaseUrl, port: 0, log: quiet })
  try {
    for (const path of ['/health', '/docs', '/openapi.json', '/api/v1/profile/score', '/nowhere']) {
      const { headers } = await fetch(service.url + path)
      expect(headers.get('cache-control'), path).toBe('no-store')
      expect(headers.get('x-content-type-options'), path).toBe('nosniff')
      expect(headers.get('content-security-policy'), path).toContain("default-src 'none'")
    }
    const page = await fetch(`${service.url}/docs`)
    expect(page.headers.get('content-security-policy')).toMatch(/style-src 'sha256-[\w+/]+=*'/)
  } finally {
    await service.close()
  }
})
