import { expect, test } from 'vitest'
import { createWorld } from './world.ts'

/** One world each. Another start or number, for a long look: SIMULATION_SEED=90001 SIMULATION_WORLDS=20000. */
const firstSeed = Number(process.env['SIMULATION_SEED'] ?? 1)
const worlds = Number(process.env['SIMULATION_WORLDS'] ?? 2000)
const steps = 120

test('no promise is broken at any moment, in whatever order all things come, and all is well when all is quiet', async () => {
  for (let seed = firstSeed; seed < firstSeed + worlds; seed += 1) {
    const world = createWorld(seed)
    const story: string[] = []
    const told = (when: string) => `${when}, seed ${seed}, upstream tells by ${world.manner}:\n${story.join('\n')}`
    for (let step = 0; step < steps; step += 1) {
      story.push(await world.step())
      const lies = world.lies()
      if (lies.length > 0) expect(lies, told('at work')).toEqual([])
    }
    const left = await world.rest()
    if (left.length > 0) expect(left, told('at rest')).toEqual([])
  }
})
