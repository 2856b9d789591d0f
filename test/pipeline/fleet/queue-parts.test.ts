import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  formatPartList,
  parsePartList,
  QUEUE_PARTS_MAX,
  queuePartTag,
  redisSlotOf,
} from '../../../src/pipeline/fleet/queue-parts.ts'

const all = Array.from({ length: QUEUE_PARTS_MAX }, (_, part) => part)

/** How many of the first parts each of `masters` masters has, which divide the slots as `redis-cli --cluster create` does. */
function partsOfMasters(parts: number, masters: number): number[] {
  const counts = new Array<number>(masters).fill(0)
  for (const part of all.slice(0, parts)) {
    const master = Math.min(masters - 1, Math.floor((redisSlotOf(queuePartTag(part)) * masters) / 16_384))
    counts[master] = (counts[master] ?? 0) + 1
  }
  return counts
}

test('the first part has the tag of an undivided queue, and no two parts share a tag', () => {
  expect(queuePartTag(0)).toBe('vitalsync')
  expect(new Set(all.map(queuePartTag)).size).toBe(QUEUE_PARTS_MAX)
  expect(new Set(all.map((part) => redisSlotOf(queuePartTag(part)))).size).toBe(QUEUE_PARTS_MAX)
})

test('the tags of the parts never change: waiting jobs lie under them', () => {
  expect(all.slice(0, 8).map(queuePartTag)).toEqual([
    'vitalsync',
    'vitalsync-1.134',
    'vitalsync-2.47',
    'vitalsync-3.60',
    'vitalsync-4.39',
    'vitalsync-5.30',
    'vitalsync-6.58',
    'vitalsync-7.51',
  ])
})

test('any number of parts from twice the number of masters lies evenly over the masters', () => {
  for (const masters of [2, 3, 4, 5, 6, 8]) {
    for (let parts = 2 * masters; parts <= QUEUE_PARTS_MAX; parts += 1) {
      const counts = partsOfMasters(parts, masters)
      expect(Math.max(...counts) - Math.min(...counts), `${parts} on ${masters}: ${counts}`).toBeLessThanOrEqual(3)
    }
  }
  expect(partsOfMasters(8, 3)).toEqual([3, 2, 3])
})

test('a list of parts is read and written in ranges', () => {
  expect(parsePartList('0-3')).toEqual([0, 1, 2, 3])
  expect(parsePartList('6, 0-2,2')).toEqual([0, 1, 2, 6])
  expect(formatPartList([0, 1, 2, 3, 6, 8, 9])).toBe('0-3,6,8-9')
  for (const list of ['5', '0-3,6', '0,2,4-63']) expect(formatPartList(parsePartList(list) ?? [])).toBe(list)
})

test('a text that names no parts is refused', () => {
  for (const text of [
    '',
    '-',
    '3-1',
    'a',
    '1-',
    '-1',
    '1,,2',
    '100',
    '1.5',
    'x1',
    '1x',
    '1-2x',
    '1-100',
    '100-1',
    '1-2-3',
    '1 - 2',
  ])
    expect(parsePartList(text), text).toBeUndefined()
})

/** From the documentation of Redis Cluster, and the check value of CRC16/XMODEM. */
test.for([
  ['123456789', 0x31c3],
  ['somekey', 11_058],
  ['hash_tag', 2515],
  ['foo', 12_182],
  ['', 0],
] as const)('the slot of %s is %i', ([tag, slot]) => {
  expect(redisSlotOf(tag)).toBe(slot % 16_384)
})

test('each part has a tag in the 256 slots around its own place: the places halve the widest gap again and again', () => {
  const first = redisSlotOf('vitalsync')
  const places = all.map((part) => Number.parseInt([...part.toString(2).padStart(6, '0')].reverse().join(''), 2))
  expect(places.slice(0, 8)).toEqual([0, 32, 16, 48, 8, 40, 24, 56])
  for (const part of all) {
    const distance = redisSlotOf(queuePartTag(part)) - first - (places[part] ?? 0) * 256
    const around = (((distance + 128) % 16_384) + 16_384) % 16_384
    expect(around, `part ${part}`).toBeLessThan(256)
    expect(queuePartTag(part)).toMatch(part === 0 ? /^vitalsync$/ : new RegExp(`^vitalsync-${part}\\.\\d+$`))
  }
})

test('any list of parts is written in as few ranges as there are, and read back in order', () => {
  const parts = fc.uniqueArray(fc.integer({ min: 0, max: 99 }), { minLength: 1, maxLength: 100 })
  fc.assert(
    fc.property(parts, (drawn) => {
      const sorted = drawn.toSorted((a, b) => a - b)
      const text = formatPartList(sorted)
      expect(parsePartList(text)).toEqual(sorted)
      expect(parsePartList(text.split(',').toReversed().join(' , '))).toEqual(sorted)
      expect(text.split(',')).toHaveLength(sorted.filter((part) => !sorted.includes(part - 1)).length)
    }),
    { seed: 20261124 },
  )
  expect(formatPartList([])).toBe('')
})
