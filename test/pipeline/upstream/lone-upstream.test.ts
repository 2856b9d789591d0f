import { expect, onTestFinished, test } from 'vitest'
import { openLoneUpstream } from '../../../src/pipeline/upstream/lone-upstream.ts'
import { http, startRawServer } from '../../support/raw-server.ts'

test('a lone client that is closed asks upstream nothing more', async () => {
  let requests = 0
  const server = await startRawServer(({ socket }) => {
    requests += 1
    socket.write(http(403, '{}'))
  })
  onTestFinished(() => server.close())
  const limits = { requestsPerSecond: 100, inFlight: 4 }
  const lone = openLoneUpstream({ url: server.url, clientId: 'id', clientSecret: 'secret', limits })
  const ask = () => lone.api.accountToken({ lane: 'manual', signal: AbortSignal.timeout(1000) })

  await expect(ask()).rejects.toMatchObject({ name: 'Rejected', status: 403 })
  await lone.close()
  await expect(ask()).rejects.toThrow()
  expect(requests).toBe(1)
})
