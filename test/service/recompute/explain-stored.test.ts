import { expect, vi } from 'vitest'
import { addServiceKey } from '../../../src/app/service-accounts.ts'
import { DAY } from '../../../src/base/time/units.ts'
import { fetchExplanation } from '../../../src/operations/fetch-explanation.ts'
import { openLoneUpstream } from '../../../src/pipeline/upstream/lone-upstream.ts'
import { deriveExtension } from '../../../src/service/recompute/extension.ts'
import { logsOf, samplePeople } from '../../../src/service/sandbox/people/sample-people.ts'
import { startService } from '../../../src/service/server.ts'
import { storeDataLogs } from '../../../src/service/store/data-logs.ts'
import { readMarks } from '../../../src/service/store/derivation-queue.ts'
import { test } from '../../support/fixtures.ts'
import { quiet } from './recompute-world.ts'

const at = '2026-11-18T15:00:00Z'
const now = Date.parse(at)

test('the service explains a score to its account and to no other caller', async ({ serviceUrl }) => {
  const [person] = samplePeople('explain', 1)
  if (!person) throw new Error('nobody is there')
  const make = (account: string) =>
    addServiceKey({ databaseUrl: serviceUrl, nowAt: new Date(now), log: quiet }, { account, kind: 'client', label: '' })
  const [owner, stranger] = [await make('own'), await make('stranger')]
  const settings = { databaseUrl: serviceUrl, port: 0, log: quiet, clock: () => now }
  const service = await startService(settings, async (extend) => extend(deriveExtension({ threads: 1 })))
  try {
    const { pool } = service.context
    const { rows } = await pool.query(
      `insert into service.profiles (profile_id, account_id, external_id, search_text, created_at)
       select gen_random_uuid(), account_id, 'ada/1', 'ada/1', now() from service.accounts
       where name = 'own' returning profile_id`,
    )
    const profileId = String(rows[0]?.profile_id)
    const logs = logsOf(person, { startMs: now - 10 * DAY, endMs: now })
    for (let from = 0; from < logs.length; from += 1000) {
      await storeDataLogs(pool, { profileId, logs: logs.slice(from, from + 1000), nowAt: new Date(now) })
    }
    // The service derives automatically; when it has deleted the last mark, all logs have been derived.
    await vi.waitFor(async () => expect(await readMarks(pool, profileId, 1)).toEqual([]), {
      timeout: 120_000,
      interval: 50,
    })
    const ask = { externalId: 'ada/1', date: '2026-11-16', score: 'activity' }
    const as = async ({ publicId, secret }: typeof owner, changes: Partial<typeof ask> = {}) => {
      const limits = { requestsPerSecond: Number.POSITIVE_INFINITY, inFlight: 1 }
      const upstream = openLoneUpstream({ url: service.url, clientId: publicId, clientSecret: secret, limits })
      return fetchExplanation(upstream.api, { ...ask, ...changes }).finally(upstream.close)
    }

    const explanation = await as(owner)

    const stored = await pool.query(
      `select body::json as body from service.derived where name = 'activity' and kind = 'score' and body like '%2026-11-16T00:00:00%'`,
    )
    expect(explanation.value).toBe(stored.rows[0]?.body.value)
    expect(explanation.used.length).toBeGreaterThan(5)
    const reference = JSON.parse(await (await fetch(`${service.url}/openapi.json`)).text())
    const described = reference.paths['/api/v1/profile/explain/{externalId}']?.get
    expect(described.operationId).toBe('explain')
    const parameters = described.parameters.map((parameter: { name: string; required: boolean }) => [
      parameter.name,
      parameter.required,
    ])
    expect(parameters).toEqual([
      ['externalId', true],
      ['date', true],
      ['score', true],
    ])
    expect(Object.keys(reference.paths).length).toBeGreaterThan(1)
    expect(await (await fetch(`${service.url}/docs`)).text()).toContain('/api/v1/profile/explain/{externalId}')
    const underPut = await fetch(`${service.url}/api/v1/profile/explain/ada`, { method: 'PUT' })
    expect([underPut.status, underPut.headers.get('allow')]).toEqual([405, 'GET'])
    await expect(as(stranger)).rejects.toThrow('404')
    await expect(as({ ...owner, secret: 'wrong' })).rejects.toThrow('status 401')
    await expect(as(owner, { score: 'luck' })).rejects.toThrow('none of that name')
    await expect(as(owner, { date: 'yesterday' })).rejects.toThrow('date')
    for (const date of ['9999-12-31', '0001-01-01', '1899-12-31', '2200-01-01'])
      await expect(as(owner, { date })).rejects.toThrow('400')
    await expect(as(owner, { externalId: '\u0000' })).rejects.toThrow('400')
  } finally {
    await service.close()
  }
})
