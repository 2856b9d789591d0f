import { expect, test } from 'vitest'
import { createWorld } from './world.ts'

const worlds = 4000
const steps = 60

test('nothing is ever called covered that differs from what upstream holds, whatever comes in which order', () => {
  for (let seed = 1; seed <= worlds; seed += 1) {
    const world = createWorld(seed)
    const story: string[] = []
    for (let step = 0; step < steps; step += 1) {
      story.push(world.step())
      const lies = world.lies()
      if (lies.length > 0) expect(lies, `seed ${seed}: ${story.join(', ')}`).toEqual([])
    }
  }
})

test('once all is quiet everything is covered, and everything is there', () => {
  for (let seed = 1; seed <= worlds / 4; seed += 1) {
    const world = createWorld(seed)
    for (let step = 0; step < steps; step += 1) world.step()
    const lies = world.rest()
    if (lies.length > 0) expect(lies, `seed ${seed}`).toEqual([])
    expect(world.isWhole(), `seed ${seed}`).toBe(true)
  }
})
