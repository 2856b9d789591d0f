import { expect, test } from 'vitest'
import { createLaneSlots } from '../../../src/pipeline/queue/lane-slots.ts'

/** Parts whose workers have not looked yet. */
function openNewParts(slotCount: number, partCount: number) {
  const slots = createLaneSlots(slotCount)
  const limits = new Array<number>(partCount).fill(0)
  const heldUp: number[] = []
  const parts = Array.from({ length: partCount }, (_, part) =>
    slots.add((jobs, isHeldUp) => {
      limits[part] = jobs
      if (isHeldUp) heldUp.push(part)
    }),
  )
  const partOf = (part: number) => parts[part] ?? slots.add(() => undefined)
  return {
    slots,
    limits,
    heldUp,
    /** `count` jobs of the part, whose ids are counted from `first`. */
    claim(part: number, count = 1, first = 0) {
      for (let id = first; id < first + count; id += 1) partOf(part).claimed(String(id))
    },
    left: (part: number, id = 0) => partOf(part).left(String(id)),
    take: (part: number, signal?: AbortSignal) => partOf(part).take(signal),
    drained: (part: number) => partOf(part).drained(),
  }
}

/** Parts whose workers found nothing. */
function openParts(slotCount: number, partCount: number) {
  const opened = openNewParts(slotCount, partCount)
  for (let part = 0; part < partCount; part += 1) opened.drained(part)
  opened.heldUp.length = 0
  return opened
}

const isOpen = Symbol('waits')
const stateOf = <T>(promise: Promise<T>) => Promise.race([promise, Promise.resolve(isOpen)])

test('a single part may claim as many jobs as there are slots, idle or not', () => {
  const { limits, claim, drained } = openParts(4, 1)
  expect(limits).toEqual([4])
  claim(0)
  drained(0)

  expect(limits).toEqual([4])
})

test('parts with work share all slots, a part without work may claim one job', () => {
  const { limits, claim, drained } = openParts(8, 3)
  expect(limits).toEqual([1, 1, 1])
  claim(0)
  expect(limits).toEqual([8, 1, 1])
  claim(1)
  expect(limits).toEqual([4, 4, 1])
  claim(2)
  expect(limits).toEqual([3, 3, 2])

  drained(2) // its job is still under way

  expect(limits).toEqual([4, 3, 2])
})

test('the first part to claim leaves the others their share until their workers have looked', () => {
  const { limits, heldUp, claim, drained } = openNewParts(4, 4)
  expect(limits).toEqual([1, 1, 1, 1])

  claim(2)
  expect(limits).toEqual([1, 1, 1, 1])
  drained(0)
  expect(limits).toEqual([1, 2, 1, 1])
  drained(1)
  expect(limits).toEqual([1, 1, 2, 2])
  drained(3)
  expect(limits).toEqual([1, 1, 4, 1])

  expect(heldUp).toEqual([2])
})

test('a part that comes later claims as others leave slots free, and one at once', () => {
  const { limits, claim, left, heldUp } = openParts(4, 2)
  claim(0, 4)
  claim(1)
  expect(limits).toEqual([2, 1])

  left(0, 0)
  left(0, 1)

  expect(limits).toEqual([2, 2])
  expect(heldUp).toEqual([1])
})

test('a part that was held up at its limit is woken when the limit rises, and no other part', () => {
  const { claim, left, drained, heldUp } = openParts(4, 2)
  claim(0, 2)
  claim(1, 2)
  heldUp.length = 0
  left(1, 0)
  left(1, 1)
  expect(heldUp).toEqual([])

  drained(1)

  expect(heldUp).toEqual([0])
})

test('a part hears of its limit only when it changes', () => {
  const slots = createLaneSlots(4)
  const heard: string[] = []
  const [first, second] = ['first', 'second'].map((name) => slots.add((jobs) => heard.push(`${name} ${jobs}`)))
  expect(heard).toEqual(['first 4', 'first 2', 'second 2'])

  first?.claimed('1')
  second?.claimed('2')
  first?.left('1')

  expect(heard).toHaveLength(3)
})

test('a job whose end is reported twice counts once', () => {
  const { claim, left, drained, limits } = openParts(4, 2)
  claim(0, 3)
  drained(0)
  left(0, 1)
  left(0, 1)

  expect(limits).toEqual([3, 1])
})

test('no more jobs run than there are slots: the one that waits longest has the next slot, whatever its part', async () => {
  const { take } = openParts(2, 4)
  const [first, second] = [await take(0), await take(1)]
  const [third, fourth] = [take(2), take(3)]
  expect(await Promise.all([stateOf(third), stateOf(fourth)])).toEqual([isOpen, isOpen])

  second?.()
  expect(await third).toBeDefined()
  expect(await stateOf(fourth)).toBe(isOpen)
  first?.()
  expect(await fourth).toBeDefined()
})

test('a job whose signal aborts waits for no slot', async () => {
  const { take } = openParts(1, 2)
  await take(0)

  expect(await take(1, AbortSignal.abort())).toBeUndefined()
})

test('after the slots are closed no job gets one, and waiting jobs get a refusal', async () => {
  const { slots, take } = openParts(1, 2)
  await take(0)
  const waiting = take(1)

  slots.close()

  expect(await waiting).toBeUndefined()
  expect(await take(0)).toBeUndefined()
})
