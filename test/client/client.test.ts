import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { type ClientLog, type ClientRecords, openClient, type UpstreamClient } from '../../src/client.ts'
import { registerProfile, type ServiceWorld, withService } from '../service/service-world.ts'
import { test as base } from '../support/fixtures.ts'

const test = base.extend<{ opened: { client: UpstreamClient; world: ServiceWorld } }>({
  opened: async ({ serviceUrl }, use) => {
    await withService(serviceUrl, {}, async (world) => {
      const client = openClient(world)
      await use({ client, world })
      await client.close()
    })
  },
})

const log: ClientLog = {
  id: randomUUID(),
  logType: 'activity',
  dataType: 'steps',
  value: 812,
  unit: 'count',
  source: 'com.example.health',
  recordingMethod: 'automatically_recorded',
  deviceType: 'watch',
  startDateTime: new Date('2026-07-10T21:00:00Z'),
  endDateTime: '2026-07-11T09:15:00+12:00',
}

test('instants are dates or texts, in queries and in logs', async ({ opened: { client, world } }) => {
  const { externalId } = await registerProfile(world)
  await client.pushLogs(externalId, [log])
  const { rows } = (await world.inside?.sql.query('select start_at from service.logs')) ?? { rows: [] }
  expect(rows).toEqual([{ start_at: new Date('2026-07-10T21:00:00Z') }])

  for (const from of [new Date('2026-07-01T00:00:00Z'), '2026-07-01', '2026-07-01T12:00:00+12:00'])
    for (const to of [new Date('2026-07-12T00:00:00Z'), '2026-07-12'])
      expect(await client.read('scores', { externalId, from, to })).toMatchObject({ records: [], invalid: [] })
  for (const wrong of [new Date(Number.NaN), 'soon', ''])
    await expect(client.read('scores', { externalId, from: wrong, to: '2026-07-12' })).rejects.toMatchObject({
      name: 'UsageProblem',
      message: 'read: from is no instant',
      hint: expect.stringContaining('2026-07-11'),
    })
  await expect(client.read('scores', { externalId, from: '2026-07-12', to: '2026-07-12' })).rejects.toMatchObject({
    name: 'UsageProblem',
    hint: expect.any(String),
  })
})

test('errors have the status, the id of the request and the next step', async ({ opened: { client, world } }) => {
  const requestId = expect.stringMatching(/^[0-9a-f-]{36}$/)
  const query = { externalId: 'nobody', from: '2026-07-01', to: '2026-07-12' }

  await expect(client.read('scores', query)).rejects.toMatchObject({
    name: 'NotThere',
    status: 404,
    requestId,
    hint: expect.stringContaining('Register'),
  })
  const { externalId } = await registerProfile(world)
  await expect(client.register(externalId)).rejects.toMatchObject({
    name: 'Rejected',
    status: 400,
    requestId,
    hint: expect.any(String),
  })
  // @ts-expect-error: there is no such kind
  const steps = client.read('steps', query)
  await expect(steps).rejects.toMatchObject({
    message: 'read steps: there is no such kind',
    hint: 'It is one of scores, biomarkers, archetypes, trends, comparisons.',
  })
  // @ts-expect-error: people have tags, but the client reads none
  await expect(client.read('tags', query)).rejects.toMatchObject({ name: 'UsageProblem' })
})

test('records and logs have the types of the interface', () => {
  const kindsOf = (record: ClientRecords['scores']) => [
    record.type.length,
    record.factors?.map(({ name, goal, state }) => [name.length, goal.toFixed(), state === 'low']),
    record.dataSources?.includes('sleep'),
    record['aFieldOfALaterVersion'],
    // @ts-expect-error: a factor has no such field
    record.factors?.map(({ colour }) => colour),
  ]
  const statesOf = (record: ClientRecords['comparisons']) =>
    record.data?.map(({ percentile, state }) => [percentile, state])
  const weeksOf = (record: ClientRecords['trends']) => record.data?.map((week) => week.percentChangeFromPrevious)
  // @ts-expect-error: there is no such kind of log
  const strange: ClientLog = { ...log, logType: 'mood' }
  // @ts-expect-error: a log has a value
  const empty: ClientLog = { ...log, value: undefined }

  const score = { type: 'sleep', factors: [{ name: 'a', goal: 1.4, state: 'low' }], dataSources: ['sleep'] }
  expect(kindsOf(score as unknown as ClientRecords['scores'])).toEqual([
    5,
    [[1, '1', true]],
    true,
    undefined,
    [undefined],
  ])
  expect([statesOf, weeksOf, strange, empty]).toHaveLength(4)
})
