import { expect } from 'vitest'
import { send, test } from '../service/sandbox/sandbox-world.ts'

test('a page of another site reaches no control route of a sandbox', async ({ world }) => {
  const { controlUrl } = world.sandbox
  const { host } = new URL(controlUrl)
  const ask = (headers: Record<string, string>) => send(`${controlUrl}/clock`, { headers })

  expect((await ask({})).status).toBe(200)
  expect((await ask({ origin: `http://${host}` })).status).toBe(200)
  expect((await ask({ host: `localhost:${new URL(controlUrl).port}` })).status).toBe(200)
  expect((await ask({ origin: 'http://evil.example' })).status).toBe(403)
  expect((await ask({ origin: 'null' })).status).toBe(403)
  expect((await ask({ host: 'evil.example' })).status).toBe(403)
  const reset = await send(`${controlUrl}/tokens/revoke`, {
    method: 'POST',
    headers: { origin: 'http://evil.example' },
  })
  expect(reset.status).toBe(403)
})
