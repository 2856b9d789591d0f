import { expect, onTestFinished, test } from 'vitest'
import { accountDigest } from '../../../src/pipeline/upstream/client.ts'
import { acceptEncodingFor, basePathOf, openTransport } from '../../../src/pipeline/upstream/transport.ts'

test.for([
  ['https://example.org', ''],
  ['https://example.org/', ''],
  ['https://example.org/base', '/base'],
  ['https://example.org/base/deep//', '/base/deep'],
] as const)('every path of %s begins with “%s”', ([url, path]) => {
  expect(basePathOf(url)).toBe(path)
})

test.for([
  ['http://localhost:8080', ''],
  ['http://127.0.0.1', ''],
  ['http://127.0.12.255:1', ''],
  ['http://[::1]:8080', ''],
  ['https://example.org', 'gzip'],
  ['http://127.0.0.1.example.org', 'gzip'],
  ['http://localhost.example.org', 'gzip'],
  ['http://128.0.0.1', 'gzip'],
] as const)('%s is asked for answers in “%s”', ([url, encoding]) => {
  expect(acceptEncodingFor(url)).toBe(encoding)
})

test('the digest of an account changes with the origin of its upstream and with its clientId', () => {
  const digest = accountDigest('https://example.org/base', 'client-1')

  expect(digest).toMatch(/^[0-9a-f]{32}$/)
  expect(accountDigest('https://example.org/other', 'client-1')).toBe(digest)
  const others = [
    accountDigest('https://example.org', 'client-2'),
    accountDigest('https://example.net', 'client-1'),
    accountDigest('https://example.org:8443', 'client-1'),
  ]
  expect(new Set([digest, ...others]).size).toBe(4)
})

test('a request that cannot be written is unsent', async () => {
  const transport = openTransport('http://127.0.0.1:9')
  onTestFinished(() => transport.close())

  const sent = transport.send({ method: 'GET', path: 'no-slash', headers: [] })

  await expect(sent).rejects.toMatchObject({ kind: 'unsent', code: 'UND_ERR_INVALID_ARG' })
})
