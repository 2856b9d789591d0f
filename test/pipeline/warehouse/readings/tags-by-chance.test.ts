import { createHash, hash } from 'node:crypto'
import { expect } from 'vitest'
import { DAY } from '../../../../src/base/time/units.ts'
import { isInside } from '../../../../src/pipeline/ledger/judge.ts'
import { streamByName } from '../../../support/stream-by-name.ts'
import { marchMs, scoresReading, test } from '../../../support/test-warehouse.ts'

const stream = streamByName('biomarkers')
const day = (from: number, to: number) => ({ startMs: marchMs(from), endMs: marchMs(to) })
const windows = [day(1, 5), day(5, 9), day(1, 9), day(3, 7), day(5, 12), day(9, 12)]
const STEPS = 150

type Item = { type: string; startMs: number; endMs: number; value: string }
type Asked = { window: (typeof windows)[number]; sentAtMs: number; items: Item[]; tag: string; unchanged: boolean }

const textOf = ({ type, startMs, endMs, value }: Item) =>
  JSON.stringify({
    type,
    category: 'sleep',
    periodicity: 'daily',
    aggregation: 'total',
    startDateTime: new Date(startMs).toISOString(),
    endDateTime: new Date(endMs).toISOString(),
    value,
  })

function createChance(seed: string): (below: number) => number {
  let turns = 0
  return (below) => createHash('sha256').update(`${seed}/${turns++}`).digest().readUInt32BE(0) % below
}

/** Records that change, end later, vanish and come back as they were; few values, so that old tags fit again. */
function createRecords(chance: (below: number) => number) {
  const items = Array.from({ length: 8 }, (_, index): Item => {
    const startMs = marchMs(1 + chance(10))
    return { type: `kind-${index}`, startMs, endMs: startMs + chance(4) * DAY, value: '1' }
  })
  const absent = new Set<Item>()
  return {
    change(): void {
      const item = items[chance(items.length)]
      const dice = chance(4)
      if (!item) return
      if (dice === 0) absent.add(item)
      else if (dice === 1) absent.delete(item)
      else if (dice === 2) item.value = item.value === '1' ? '2' : '1'
      else item.endMs = item.startMs + chance(4) * DAY
    },
    within: ({ startMs, endMs }: { startMs: number; endMs: number }) =>
      items
        .filter((item) => !absent.has(item) && item.startMs <= endMs && item.endMs >= startMs)
        .map((item) => ({ ...item })),
  }
}

for (const seed of ['ada', 'bob', 'eve', 'joe']) {
  test(`by whatever tags and in whatever order readings come, the newest one holds (${seed})`, async ({
    warehouse,
  }) => {
    const [profileId = ''] = await warehouse.addProfiles('ada')
    const chance = createChance(seed)
    const records = createRecords(chance)
    const underWay: Asked[] = []
    let newestMs = 0
    const counts = { unchanged: 0, outdated: 0, whole: 0 }

    const ask = async (step: number) => {
      const window = windows[chance(windows.length)] ?? day(1, 5)
      const items = records.within(window)
      const tag = `"${hash('md5', items.map(textOf).join())}"`
      const [held] = await warehouse.rows(
        `select t.tag from vitalsync.reading_tags t join vitalsync.ledger l using (profile_id, stream)
         where l.tagged and t.from_at = to_timestamp($1 / 1000.0) and t.to_at = to_timestamp($2 / 1000.0)`,
        [window.startMs, window.endMs],
      )
      const sentAtMs = warehouse.startedAtMs - 600_000 + step
      underWay.push({ window, sentAtMs, items, tag, unchanged: held?.['tag'] === tag })
    }

    const store = async ({ window, sentAtMs, items, tag, unchanged }: Asked) => {
      const given = { stream, profileId, window, sentAtMs, tag, unchanged }
      const told = unchanged ? [] : items.map((item) => JSON.parse(textOf(item)))
      const { outcome } = await warehouse.writer.store(scoresReading({ ...given, records: told }))
      counts[outcome === 'outdated' ? 'outdated' : unchanged ? 'unchanged' : 'whole'] += 1
      if (outcome !== 'stored' || sentAtMs < newestMs) return
      newestMs = sentAtMs
      const rows = await warehouse.rows('select body from vitalsync.biomarkers where gone_at is null')
      const stored = rows.map(({ body }) => String(body))
      const answered = items.map(textOf)
      expect(stored, `unchanged ${unchanged}`).toEqual(expect.arrayContaining(answered))
      const beside = stored.filter((text) => {
        const { startDateTime, endDateTime } = JSON.parse(text)
        const period = { startMs: Date.parse(startDateTime), endMs: Date.parse(endDateTime) }
        return isInside(period, window) && !answered.includes(text)
      })
      expect(beside, `unchanged ${unchanged}`).toEqual([])
    }

    for (let step = 0; step < STEPS; step += 1) {
      if (chance(3) === 0) records.change()
      await ask(step)
      while (underWay.length > chance(4)) {
        const [next] = underWay.splice(chance(underWay.length), 1)
        if (next) await store(next)
      }
    }
    expect(counts.unchanged).toBeGreaterThan(5)
    expect(counts.whole).toBeGreaterThan(20)
  })
}
