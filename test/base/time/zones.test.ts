import { expect, onTestFinished, test, vi } from 'vitest'
import { createOffsetCache, zoneOffsetMs } from '../../../src/base/time/local-time.ts'
import { HOUR, MINUTE, SECOND } from '../../../src/base/time/units.ts'
import { zoneChanges } from '../../support/zone-changes.ts'

test.for([
  ['UTC', '2026-03-10T00:00:00Z', 0],
  ['Asia/Kathmandu', '2026-03-10T00:00:00Z', 5.75],
  ['America/St_Johns', '2026-01-10T00:00:00Z', -3.5],
  ['Europe/Berlin', '2026-03-29T00:59:59.999Z', 1],
  ['Europe/Berlin', '2026-03-29T01:00:00Z', 2],
  ['Europe/Berlin', '2026-10-25T00:59:59.999Z', 2],
  ['Europe/Berlin', '2026-10-25T01:00:00Z', 1],
  ['Australia/Lord_Howe', '2026-04-04T14:59:59Z', 11],
  ['Australia/Lord_Howe', '2026-04-04T15:00:00Z', 10.5],
  ['Pacific/Kiritimati', '2026-12-31T23:59:59.5Z', 14],
  ['Pacific/Pago_Pago', '2026-01-01T00:00:00.5Z', -11],
  ['Europe/London', '1969-12-31T23:59:59.999Z', 1],
] as const)('%s is at %s ahead of UTC by %d hours', ([zone, at, hours]) => {
  expect(zoneOffsetMs(zone)(Date.parse(at))).toBe(hours * HOUR)
})

test('an offset begins with the millisecond of its change, at all changes of all zones in ten years', () => {
  const changes = zoneChanges()
  const clocks = new Map<string, Array<(atMs: number) => number>>()
  const wrong: string[] = []
  for (const { zone, atMs, beforeMs, afterMs } of changes) {
    const readers = clocks.get(zone) ?? [zoneOffsetMs(zone), createOffsetCache(zone)]
    clocks.set(zone, readers)
    for (const [ms, offset] of [
      [atMs - 61 * MINUTE, beforeMs],
      [atMs - 20 * MINUTE, beforeMs],
      [atMs - SECOND, beforeMs],
      [atMs - 1, beforeMs],
      [atMs, afterMs],
      [atMs + 1, afterMs],
      [atMs + 61 * MINUTE, afterMs],
    ] as const)
      for (const offsetMs of readers)
        if (offsetMs(ms) !== offset) wrong.push(`${zone} ${new Date(ms).toISOString()}: ${offsetMs(ms)}, not ${offset}`)
  }

  expect(wrong).toEqual([])
  expect(changes.length).toBeGreaterThan(2000)
  expect(changes).toContainEqual({
    zone: 'Europe/Berlin',
    atMs: Date.parse('2026-03-29T01:00:00Z'),
    beforeMs: HOUR,
    afterMs: 2 * HOUR,
  })
})

test('an hour in whose middle the clocks change is looked up again, also where it begins as in 1970', () => {
  const offsetMs = createOffsetCache('Asia/Kathmandu')
  const hours = ['18:15', '18:45', '18:15'].map((time) => offsetMs(Date.parse(`1985-12-31T${time}:00Z`)) / HOUR)

  expect(hours).toEqual([5.5, 5.75, 5.5])
})

/** How often the zone is asked. */
function countLookUps() {
  const lookUp = vi.spyOn(Intl.DateTimeFormat.prototype, 'formatToParts')
  onTestFinished(() => lookUp.mockRestore())
  return (work: () => unknown) => {
    const before = lookUp.mock.calls.length
    work()
    return lookUp.mock.calls.length - before
  }
}

test('an hour that was asked for is remembered, also the one that ends with a change, until 20,000 others are', () => {
  const lookUpsOf = countLookUps()
  const offsetMs = createOffsetCache('Europe/Berlin')
  const firstMs = Date.parse('2026-03-29T00:00:00Z')
  const ask = (hour: number) => lookUpsOf(() => offsetMs(firstMs + hour * HOUR + MINUTE))

  const lookUps = ask(0)
  expect(lookUps).toBeGreaterThan(0)
  expect(ask(0)).toBe(0)
  for (let hour = 1; hour < 20_000; hour += 1) offsetMs(firstMs + hour * HOUR)
  expect([ask(0), ask(19_999)]).toEqual([0, 0])
  expect(ask(20_000)).toBe(lookUps)
  expect([ask(20_000), ask(0), ask(19_999)]).toEqual([0, lookUps, lookUps])
})
