import { expect } from 'vitest'
import { pulledStreams } from '../../../../config/streams.ts'
import { type Span, totalMs, union } from '../../../../src/base/time/spans.ts'
import { DAY, HOUR } from '../../../../src/base/time/units.ts'
import {
  drawCoveredWindows,
  listDrawnProfiles,
  listDrawnWindows,
  sampleCoveredWindows,
} from '../../../../src/pipeline/warehouse/verification/covered-windows.ts'
import { insertPeople, peopleNames } from '../../../support/insert-people.ts'
import { streamByName } from '../../../support/stream-by-name.ts'
import { marchMs, test, type Warehouse } from '../../../support/test-warehouse.ts'

const all = 100_000
const scores = streamByName('scores')

async function cover(warehouse: Warehouse, profileId: string, stream: string, spans: readonly Span[]): Promise<void> {
  const text = spans.map((span) => `[${new Date(span.startMs).toISOString()},${new Date(span.endMs).toISOString()})`)
  await warehouse.rows('update vitalsync.ledger set covered = $3 where profile_id = $1 and stream = $2', [
    profileId,
    stream,
    `{${text.join(',')}}`,
  ])
}

const days = (from: number, count: number): Span => ({
  startMs: marchMs(1) + from * DAY,
  endMs: marchMs(1) + (from + count) * DAY,
})

test('every covered day lies in one window, no window is longer than one request, and a snapshot has one', async ({
  warehouse,
}) => {
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  const spans = [days(0, 3), { startMs: days(10, 0).startMs + HOUR, endMs: days(200, 0).startMs - HOUR }]
  await cover(warehouse, ada, 'scores', spans)
  await cover(warehouse, bob, 'trends', [days(0, 400)])
  await cover(warehouse, bob, 'demographics', [days(0, 4), days(7, 400)])
  await warehouse.addProfiles('eve')
  const source = { pool: warehouse.pool, streams: pulledStreams }

  const windows = await sampleCoveredWindows(source, { count: all, seed: '1', ids: undefined })

  const of = (name: string) => windows.filter(({ stream }) => stream.name === name).map(({ window }) => window)
  expect(union(of('scores'))).toEqual(union(spans))
  expect(totalMs(of('scores'))).toBe(totalMs(spans))
  expect(union(of('trends'))).toEqual([days(0, 400)])
  expect(of('demographics')).toEqual([{ startMs: days(0, 0).startMs, endMs: days(407, 0).startMs }])
  for (const { window, stream } of windows.filter(({ stream }) => stream.kind === 'windowed'))
    expect(window.endMs - window.startMs).toBeLessThanOrEqual(stream.windowMs)
})

test('a sample asked for is a sample drawn, of the asked profiles, and the same seed draws the same', async ({
  warehouse,
}) => {
  const [ada = '', bob = ''] = await warehouse.addProfiles('ada', 'bob')
  for (const profileId of [ada, bob]) await cover(warehouse, profileId, 'scores', [days(0, 3500)])
  const source = { pool: warehouse.pool, streams: [scores] }
  const draw = (seed: string, count: number, ids?: string[]) => sampleCoveredWindows(source, { count, seed, ids })

  expect(await draw('7', 60)).toHaveLength(60)
  expect(await draw('7', 60)).toEqual(await draw('7', 60))
  expect(await draw('8', 60)).not.toEqual(await draw('7', 60))
  const ofBob = await draw('7', 60, [bob])
  expect(ofBob).toHaveLength(60)
  expect(new Set(ofBob.map(({ profileId }) => profileId))).toEqual(new Set([bob]))
  expect((await draw('7', all, [bob])).length).toBeLessThan(110)
})

test('each covered day has the same chance, whether its profile has much or little covered', async ({ warehouse }) => {
  const [much = '', little = '', scattered = ''] = await warehouse.addProfiles('much', 'little', 'scattered')
  await cover(warehouse, much, 'scores', [days(0, 3500)])
  await cover(warehouse, little, 'scores', [days(0, 20)])
  await cover(
    warehouse,
    scattered,
    'scores',
    Array.from({ length: 40 }, (_, week) => days(week * 35, 7)),
  )
  const source = { pool: warehouse.pool, streams: [scores] }
  const existing = (await sampleCoveredWindows(source, { count: all, seed: '0', ids: undefined })).length
  const [seeds, count] = [300, 20]
  const daysDrawn = new Map([much, little, scattered].map((id) => [id, 0]))

  for (let seed = 0; seed < seeds; seed += 1) {
    for (const { profileId, window } of await sampleCoveredWindows(source, {
      count,
      seed: String(seed),
      ids: undefined,
    }))
      daysDrawn.set(profileId, (daysDrawn.get(profileId) ?? 0) + (window.endMs - window.startMs) / DAY)
  }

  const expected = (covered: number) => (covered * seeds * count) / existing
  expect(daysDrawn.get(much)).toBeGreaterThan(expected(3500) * 0.9)
  expect(daysDrawn.get(much)).toBeLessThan(expected(3500) * 1.1)
  expect(daysDrawn.get(scattered)).toBeGreaterThan(expected(280) * 0.85)
  expect(daysDrawn.get(scattered)).toBeLessThan(expected(280) * 1.15)
  expect(daysDrawn.get(little)).toBeGreaterThan(expected(20) * 0.6)
  expect(daysDrawn.get(little)).toBeLessThan(expected(20) * 1.4)
})

test('a draw names its profiles in pages, and of each the same windows as the sample', async ({ warehouse }) => {
  const names = Array.from({ length: 30 }, (_, index) => `person-${index}`)
  const ids = await warehouse.addProfiles(...names)
  for (const id of ids) await cover(warehouse, id, 'scores', [days(0, 100)])
  const source = { pool: warehouse.pool, streams: [scores] }
  const sample = await sampleCoveredWindows(source, { count: 12, seed: '5', ids: undefined })

  const draw = await drawCoveredWindows(source, { count: 12, seed: '5' })
  if (!draw) throw new Error('nothing was drawn')
  const drawn: string[] = []
  for (let afterId = '0'; ; ) {
    const page = await listDrawnProfiles(source, draw, { afterId, limit: 4 })
    drawn.push(...page.ids)
    if (page.ids.length < 4) break
    afterId = page.lastId
  }
  const windows = (await Promise.all(drawn.map((id) => listDrawnWindows(source, draw, id)))).flat()

  expect(new Set(drawn).size).toBe(drawn.length)
  const named = (covered: { profileId: string; window: Span }) => `${covered.profileId} ${covered.window.startMs}`
  expect(windows.map(named).toSorted()).toEqual(sample.map(named).toSorted())
  expect(
    await drawCoveredWindows({ ...source, streams: [streamByName('tags')] }, { count: 3, seed: '5' }),
  ).toBeUndefined()
})

test('a draw reaches the profiles of every statement', async ({ warehouse }) => {
  const [first = ''] = await warehouse.addProfiles('first')
  await insertPeople(warehouse.pool, peopleNames(20_001, 'between '))
  const [last = ''] = await warehouse.addProfiles('last')
  for (const id of [first, last]) await cover(warehouse, id, 'scores', [days(0, 100)])
  const source = { pool: warehouse.pool, streams: [scores] }

  const sample = await sampleCoveredWindows(source, { count: 3, seed: '1', ids: undefined })
  const draw = await drawCoveredWindows(source, { count: all, seed: '1' })
  const drawn = draw && (await listDrawnProfiles(source, draw, { afterId: '0', limit: 10 }))

  expect(sample).toHaveLength(3)
  const whole = await sampleCoveredWindows(source, { count: all, seed: '1', ids: undefined })
  expect(sample).toEqual(whole.slice(0, 3))
  expect(new Set(whole.map(({ profileId }) => profileId))).toEqual(new Set([first, last]))
  expect(drawn?.ids).toEqual([first, last])
})
