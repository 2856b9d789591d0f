import fc from 'fast-check'
import { expect, test } from 'vitest'
import { batchesOf, batchOfItems, cutBatches, itemsOf, type Parcel } from '../../../src/pipeline/transfer/parcel.ts'

const textOf = (note: string, size: number) => JSON.stringify({ note: note.repeat(size) })

let made = 0
function parcelOf(bodies: readonly string[], takenOut: readonly number[] = []): Parcel {
  const body = bodies.join(',')
  made += 1
  return {
    id: String(made),
    body,
    bytes: Buffer.byteLength(body),
    sizes: bodies.map((body) => Buffer.byteLength(body)).join(','),
    takenOut,
    waiting: bodies.length - takenOut.length,
    mode: 'patch',
    startAtMs: 0,
    endAtMs: 0,
  }
}

test('batches hold every item once, in order, within 90 items and 150 KB', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20_000), { maxLength: 400 }), (sizes) => {
      const items = sizes.map((size) => textOf('é', size))
      const batches = cutBatches(items.map((item) => Buffer.byteLength(item)))

      expect(batches.flatMap(({ from, to }) => items.slice(from, to))).toEqual(items)
      for (const { from, to } of batches) {
        expect(to - from).toBeLessThanOrEqual(90)
        expect(Buffer.byteLength(`[${items.slice(from, to).join(',')}]`)).toBeLessThanOrEqual(150_000)
      }
    }),
    { numRuns: 50 },
  )
})

test('batches are as full as may be: 90 small items fill one', () => {
  expect(cutBatches(Array.from({ length: 181 }, () => 2))).toEqual([
    { from: 0, to: 90 },
    { from: 90, to: 180 },
    { from: 180, to: 181 },
  ])
})

test('a batch is filled to its last byte, the list and a comma after each item counted', () => {
  expect(cutBatches([74_998, 74_998])).toEqual([{ from: 0, to: 2 }])
  expect(cutBatches([74_998, 74_999])).toHaveLength(2)
  expect(cutBatches([149_997, 74_998, 74_998, 149_997])).toEqual([
    { from: 0, to: 1 },
    { from: 1, to: 3 },
    { from: 3, to: 4 },
  ])
})

test('an item too large for any batch goes alone', () => {
  expect(cutBatches([7, 200_000, 7])).toEqual([
    { from: 0, to: 1 },
    { from: 1, to: 2 },
    { from: 2, to: 3 },
  ])
  expect(cutBatches([200_000, 7])).toEqual([
    { from: 0, to: 1 },
    { from: 1, to: 2 },
  ])
})

test('no items are cut into no parcels', () => {
  expect(cutBatches([])).toEqual([])
})

test('some items of parcels are sent as one list, and are its items', () => {
  const parcels = [parcelOf(['{"a":1}', '{"b":2}'])]
  const items = parcels.flatMap(itemsOf)

  const batch = batchOfItems(items, parcels)

  expect(batch).toMatchObject({ joined: '{"a":1},{"b":2}', count: 2, parcels })
  expect(batch.items()).toEqual(items)
})

const item = fc.record({
  note: fc.constantFrom('a', 'é', '漢', '😀', '"\\,'),
  size: fc.oneof(fc.nat(50), fc.nat(12_000)),
  taken: fc.boolean(),
})

test('requests carry every waiting item of the parcels once, in order, and no parcel twice', () => {
  fc.assert(
    fc.property(fc.array(fc.array(item, { minLength: 1, maxLength: 60 }), { maxLength: 20 }), (given) => {
      // As an import packs them: within one request each.
      const items = given.flatMap((all) => {
        const texts = all.map(({ note, size }) => textOf(note, size))
        return cutBatches(texts.map((text) => Buffer.byteLength(text))).map(({ from, to }) => all.slice(from, to))
      })
      const parcels = items.map((all) =>
        parcelOf(
          all.map(({ note, size }) => textOf(note, size)),
          all.flatMap(({ taken }, place) => (taken && all.some((item) => !item.taken) ? [place] : [])),
        ),
      )
      const waiting = items.flatMap((all) =>
        all
          .filter(({ taken }) => !taken || all.every((item) => item.taken))
          .map(({ note, size }) => textOf(note, size)),
      )

      const loads = batchesOf(parcels)

      expect(loads.flatMap((load) => load.parcels)).toEqual(parcels)
      const bodies = loads.map(({ joined }) => `[${joined}]`)
      expect(bodies.flatMap((body) => JSON.parse(body))).toEqual(waiting.map((text) => JSON.parse(text)))
      for (const [index, load] of loads.entries()) {
        const pieces = load.items()
        expect(pieces.map(({ body }) => body).join(',')).toBe(load.joined)
        expect(pieces).toHaveLength(load.count)
        expect(load.count).toBeLessThanOrEqual(90)
        expect(Buffer.byteLength(bodies[index] ?? '')).toBeLessThanOrEqual(150_000)
      }
    }),
    { numRuns: 60 },
  )
})

test('small parcels share a request, and one that is too large for any stands alone', () => {
  const small = Array.from({ length: 100 }, () => parcelOf(['{"a":1}']))
  const large = parcelOf([textOf('x', 200_000)])

  expect(batchesOf([...small, large, parcelOf(['{}'])]).map(({ count }) => count)).toEqual([90, 10, 1, 1])
})

test('a parcel is taken apart by bytes, whatever stands in its items', () => {
  const bodies = ['{"a":"},{"}', '{"b":"é😀"}', '{}']

  expect(itemsOf(parcelOf(bodies, [1])).map(({ place, body }) => [place, body])).toEqual([
    [0, bodies[0]],
    [2, bodies[2]],
  ])
})
