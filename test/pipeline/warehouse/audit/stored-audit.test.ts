import { expect } from 'vitest'
import { createAudit, readAuditPage } from '../../../../src/pipeline/warehouse/audit/stored-audit.ts'
import { test } from '../../../support/test-warehouse.ts'

test('the audit is filtered by who, by action and by person, and continues after an entry', async ({ warehouse }) => {
  const { pool } = warehouse
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  const audit = createAudit({ pool })
  const entries = [
    ['eve', 'look at values', ada],
    ['eve', 'erase', bob],
    ['mia', 'look at values', bob],
    ['eve', 'look at values', bob],
  ] as const
  for (const [who, action, profileId] of entries) await audit.record({ who, role: 'look', action, profileId })
  const pageOf = (changes: object) => readAuditPage(pool, { who: '', action: '', limit: 10, ...changes })
  const shown = async (changes: object) =>
    (await pageOf(changes)).entries.map(({ who, action, externalId }) => [who, action, externalId])

  expect(await shown({ who: 'eve', action: 'look at values' })).toEqual([
    ['eve', 'look at values', 'bob'],
    ['eve', 'look at values', 'ada'],
  ])
  expect(await shown({ profileId: ada })).toEqual([['eve', 'look at values', 'ada']])
  const [newest, second] = (await pageOf({ limit: 2 })).entries
  expect([newest?.who, second?.who]).toEqual(['eve', 'mia'])
  expect(await shown({ before: second?.id, action: 'erase' })).toEqual([['eve', 'erase', 'bob']])
  expect(await pageOf({})).toMatchObject({ names: ['eve', 'mia'], actions: ['erase', 'look at values'] })
})
