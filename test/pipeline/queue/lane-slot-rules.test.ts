import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLaneSlots } from '../../../src/pipeline/queue/lane-slots.ts'

/** The part of the queue as its worker sees it: the jobs that it holds, and how many it may hold. */
type HeldPart = {
  slots: ReturnType<ReturnType<typeof createLaneSlots>['add']> | undefined
  readonly waiting: string[]
  readonly running: { readonly id: string; free(): void }[]
  limit: number
  isDrained: boolean
}

const PARTS_MAX = 5

function openLane(slotCount: number) {
  const lane = createLaneSlots(slotCount)
  const parts: HeldPart[] = []
  let jobs = 0
  const add = () => {
    const part: HeldPart = { slots: undefined, waiting: [], running: [], limit: 0, isDrained: false }
    parts.push(part)
    part.slots = lane.add((limit) => {
      part.limit = limit
    })
  }
  /** Claims as a worker does: as far as the limit goes. */
  const claim = (part: HeldPart) => {
    if (part.waiting.length + part.running.length >= part.limit) return
    jobs += 1
    const id = String(jobs)
    part.isDrained = false
    part.waiting.push(id)
    part.slots?.claimed(id)
    void part.slots?.take(undefined).then((free) => {
      part.waiting.splice(part.waiting.indexOf(id), 1)
      if (free) part.running.push({ id, free })
    })
  }
  const end = (part: HeldPart) => {
    const job = part.running.shift()
    if (!job) return
    job.free()
    part.slots?.left(job.id)
  }
  const drain = (part: HeldPart) => {
    part.isDrained = true
    part.slots?.drained()
  }
  const remove = (part: HeldPart) => {
    if (part.waiting.length + part.running.length > 0) return
    parts.splice(parts.indexOf(part), 1)
    part.slots?.remove()
  }
  return { parts, add, claim, end, drain, remove }
}

const countOf = (parts: readonly HeldPart[], list: 'waiting' | 'running') =>
  parts.reduce((sum, part) => sum + part[list].length, 0)

function requireRules(parts: readonly HeldPart[], slotCount: number): void {
  const running = countOf(parts, 'running')
  expect(running, 'no more jobs run than there are slots').toBeLessThanOrEqual(slotCount)
  if (countOf(parts, 'waiting') > 0) expect(running, 'no job waits beside a free slot').toBe(slotCount)
  for (const part of parts) expect(part.limit, 'each part may claim a job').toBeGreaterThanOrEqual(1)
  const busy = parts.filter(({ isDrained }) => !isDrained)
  if (parts.length > 1 && busy.length === 1 && countOf(parts, 'running') === busy[0]?.running.length)
    expect(busy[0].limit, 'a part that alone has work has all slots').toBe(slotCount - countOf(parts, 'waiting'))
  if (parts.length === 1) expect(parts[0]?.limit, 'the only part has all slots').toBe(slotCount)
}

const steps = fc.array(
  fc.tuple(fc.constantFrom('add', 'claim', 'claim', 'claim', 'end', 'drain', 'remove'), fc.nat(PARTS_MAX - 1)),
  { maxLength: 60 },
)

test('whatever parts claim, end and run dry, the bound holds, no slot is idle beside a job, and no part is left out', () =>
  fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 6 }), steps, async (slotCount, story) => {
      const { parts, add, ...act } = openLane(slotCount)
      add()
      for (const [step, number] of story) {
        const part = parts[number % parts.length]
        if (step === 'add') {
          if (parts.length < PARTS_MAX) add()
        } else if (part && (step !== 'remove' || parts.length > 1)) act[step](part)
        await new Promise(setImmediate)
        requireRules(parts, slotCount)
      }
    }),
    { numRuns: 150, seed: 40 },
  ))

test('parts that never run dry come to even shares, whichever claimed first', () =>
  fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 2, max: PARTS_MAX }),
      fc.nat(),
      async (slotCount, partCount, first) => {
        const { parts, add, claim, end } = openLane(slotCount)
        for (let part = 0; part < partCount; part += 1) add()
        for (let turn = 0; turn < 12; turn += 1) {
          for (const index of parts.keys()) {
            const part = parts[(first + index) % partCount]
            if (part) for (let job = 0; job < slotCount; job += 1) claim(part)
          }
          await new Promise(setImmediate)
          for (const part of parts) if (turn < 11) end(part)
        }
        const held = parts.map(({ waiting, running }) => waiting.length + running.length)
        const even = Math.max(1, Math.floor(slotCount / partCount))
        expect(Math.min(...held)).toBe(even)
        expect(Math.max(...held)).toBeLessThanOrEqual(even + 1)
      },
    ),
    { numRuns: 100, seed: 41 },
  ))

test('a part that is removed leaves its share to the others', () => {
  const { parts, add, remove } = openLane(6)
  for (let part = 0; part < 3; part += 1) add()
  expect(parts.map(({ limit }) => limit)).toEqual([2, 2, 2])
  const [, , last] = parts
  if (last) remove(last)

  expect(parts.map(({ limit }) => limit)).toEqual([3, 3])
})
