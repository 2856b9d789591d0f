import { expect, test } from 'vitest'
import { createWorld } from './world.ts'

/** One world for each seed. Other seeds, or more of them, for a long run: SIMULATION_SEED=90001 SIMULATION_WORLDS=20000. */
const firstSeed = Number(process.env['SIMULATION_SEED'] ?? 1)
const worlds = Number(process.env['SIMULATION_WORLDS'] ?? 2000)
const steps = 120

test('no promise is broken at any moment, in whatever order events come, and all work is done in the end', async () => {
  for (let seed = firstSeed; seed < firstSeed + worlds; seed += 1) {
    const world = createWorld(seed)
    const story: string[] = []
    const report = (when: string) => `${when}, seed ${seed}, upstream tells by ${world.manner}:\n${story.join('\n')}`
    for (let step = 0; step < steps; step += 1) {
      story.push(await world.step())
      const violations = world.violations()
      if (violations.length > 0) expect(violations, report('at work')).toEqual([])
    }
    const left = await world.rest()
    if (left.length > 0) expect(left, report('at rest')).toEqual([])
  }
})
