/**
 * The parts of the queue. Part 0 keeps the names that an undivided queue has, and no name holds the number of parts: so a
 * job that waits while their number changes stays in a queue that is known. Pure.
 */

export const QUEUE_PARTS_MAX = 64

const REDIS_SLOTS = 16_384
const SLOTS_PER_PART = REDIS_SLOTS / QUEUE_PARTS_MAX

/**
 * The hash tag of a part's keys: BullMQ's scripts need all keys of a queue in one slot of a Redis Cluster. The tags are chosen by
 * their slots, which halve the widest gap again and again: any number of parts lies evenly over masters that divide the slots evenly.
 */
export function queuePartTag(part: number): string {
  const first = 'vitalsync'
  if (part === 0) return first
  const middle = redisSlotOf(first) + reversedBits(part) * SLOTS_PER_PART
  for (let suffix = 0; ; suffix += 1) {
    const tag = `${first}-${part}.${suffix}`
    if ((redisSlotOf(tag) - middle + SLOTS_PER_PART / 2 + 2 * REDIS_SLOTS) % REDIS_SLOTS < SLOTS_PER_PART) return tag
  }
}

/** The six bits of a part's number in reverse order: 0, 32, 16, 48, 8, … */
const reversedBits = (part: number): number =>
  [0, 1, 2, 3, 4, 5].reduce((reversed, bit) => reversed | (((part >> bit) & 1) << (5 - bit)), 0)

/** The slot of a hash tag, as Redis Cluster counts: CRC16 (XMODEM) modulo 16,384. */
export function redisSlotOf(tag: string): number {
  let crc = 0
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff
  }
  return crc % REDIS_SLOTS
}

/** The parts that a text such as `0-3,6` names, in order; undefined where it is no such text. */
export function parsePartList(text: string): number[] | undefined {
  const ranges = text.split(',').map((range) => /^(\d{1,2})(?:-(\d{1,2}))?$/.exec(range.trim()))
  const parts = new Set<number>()
  for (const range of ranges) {
    const from = Number(range?.[1] ?? Number.NaN)
    const to = Number(range?.[2] ?? from)
    if (!(from <= to)) return undefined
    for (let part = from; part <= to; part += 1) parts.add(part)
  }
  return [...parts].sort((a, b) => a - b)
}

/** The reverse of `parsePartList`. */
export function formatPartList(parts: readonly number[]): string {
  const ranges: Array<[from: number, to: number]> = []
  for (const part of parts) {
    const last = ranges.at(-1)
    if (last && part === last[1] + 1) last[1] = part
    else ranges.push([part, part])
  }
  return ranges.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',')
}
