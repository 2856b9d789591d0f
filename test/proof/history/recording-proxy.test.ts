import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { operations } from '../../../src/base/contract/operations.ts'
import { startSilentProxy } from '../../support/silent-proxy.ts'
import type { HistoryEvent } from './history.ts'
import { openRecordingProxy } from './recording-proxy.ts'
import { eventsOf } from './rules.ts'

test('a token whose answer the network swallows counts as unknown', async () => {
  const events: HistoryEvent[] = []
  const service = createServer((_, answer) => answer.end('{"accountToken":"made-up"}')).listen(0, '127.0.0.1')
  await once(service, 'listening')
  const serviceUrl = `http://127.0.0.1:${(service.address() as AddressInfo).port}`
  const network = await startSilentProxy(serviceUrl)
  const history = { events, add: (event: HistoryEvent) => void events.push(event), close: () => undefined }
  const recording = { serviceUrl, history, versionOf: () => undefined, isLostTo: network.isSilentTo }
  const proxy = await openRecordingProxy(recording)
  network.redirect(proxy.url)
  onTestFinished(async () => {
    await Promise.all([network.close(), proxy.close()])
    service.close()
  })
  const asked = new AbortController()
  const ask = () => {
    const { method, path } = operations.accountToken
    return fetch(new URL(path, network.url), { method, body: '{}', signal: asked.signal })
  }
  const outcomes = () => eventsOf(events, 'token').map(({ outcome }) => outcome)

  await (await ask()).text()
  network.silence('to-client')
  const unheard = ask().catch(() => 'no answer')
  await expect.poll(outcomes).toEqual(['acknowledged', 'unknown'])
  asked.abort()

  expect(await unheard).toBe('no answer')
})
