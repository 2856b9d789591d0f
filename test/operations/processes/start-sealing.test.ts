import { expect } from 'vitest'
import { HOUR } from '../../../src/base/time/units.ts'
import { createPostgresTokenStore } from '../../../src/pipeline/warehouse/tokens/token-store.ts'
import { soon } from '../../support/fixtures.ts'
import { test } from '../../support/test-pipeline.ts'

const [former, next] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)]
const name = { account: 'a' }

test('a worker that is given a new key before the former one encrypts the tokens again', async ({ open }) => {
  const line = await open('postgres', { TOKEN_KEY: `${next.toString('hex')},${former.toString('base64')}` })
  const { pool } = line.pipeline
  const before = createPostgresTokenStore({ pool, keys: [former] })
  const asked = await before.lease(name, { generation: 0, leaseMs: HOUR })
  if (asked.kind !== 'leased') throw new Error(`expected a lease, got ${asked.kind}`)
  const nowMs = Date.now()
  await before.save(name, asked.lease, { secret: 'kept', issuedAtMs: nowMs, expiresAtMs: nowMs + HOUR })

  line.work()

  const after = createPostgresTokenStore({ pool, keys: [next] })
  await expect.poll(async () => (await after.read(name)).token?.secret, soon).toBe('kept')
})
