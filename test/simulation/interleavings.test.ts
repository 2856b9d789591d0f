import { expect, test } from 'vitest'
import { HOUR } from '../../src/base/time/units.ts'
import { settleReading } from '../../src/pipeline/ledger/judge.ts'
import { createSituations, type Situations, unseenIn } from './situations.ts'
import { createWorld } from './world.ts'

/** One world for each seed. Other seeds, or more of them, for a long run: SIMULATION_SEED=90001 SIMULATION_WORLDS=20000. */
const firstSeed = Number(process.env['SIMULATION_SEED'] ?? 1)
const worlds = Number(process.env['SIMULATION_WORLDS'] ?? 600)
const steps = 120
/** How many worlds it takes to meet every situation. */
const WORLDS_FOR_ALL = 600

type Finding = { readonly when: 'at work' | 'at rest'; readonly violations: string[]; readonly story: string }
type Play = { readonly settle?: typeof settleReading; readonly situations?: Situations }

/** Plays one world; undefined when no promise was broken and all work was done. */
async function play(seed: number, options: Play = {}): Promise<Finding | undefined> {
  const world = await createWorld(seed, options)
  const story: string[] = []
  const finding = (when: Finding['when'], violations: string[]) => ({
    when,
    violations,
    story: `${when}, seed ${seed}, upstream chooses by ${world.upstreamChooses}:\n${story.join('\n')}`,
  })
  for (let step = 0; step < steps; step += 1) {
    story.push(await world.step())
    const violations = await world.violations()
    if (violations.length > 0) return finding('at work', violations)
  }
  const left = await world.rest()
  return left.length > 0 ? finding('at rest', left) : undefined
}

test('no promise is broken at any moment, in whatever order events come, and all work is done in the end', async () => {
  const situations = createSituations()
  for (let seed = firstSeed; seed < firstSeed + worlds; seed += 1) {
    const finding = await play(seed, { situations })
    expect(finding?.violations ?? [], finding?.story).toEqual([])
  }
  if (worlds >= WORLDS_FOR_ALL) expect(unseenIn(situations.counts)).toEqual([])
})

test('a fixed time in which upstream is taken to have derived is caught', async () => {
  const digestAssumedMs = 36 * HOUR
  const settle: typeof settleReading = (reading, { awaiting }, stored) =>
    settleReading(
      reading,
      { awaiting: awaiting.filter(({ touchedAtMs }) => reading.sentAtMs < touchedAtMs + digestAssumedMs) },
      stored,
    )
  const findings: string[] = []
  for (let seed = 1; seed <= 300 && findings.length === 0; seed += 1) {
    const finding = await play(seed, { settle })
    if (finding?.when === 'at work') findings.push(...finding.violations)
  }

  // The world finds the decision itself, before a window is called covered because of it.
  expect(findings.join()).toContain('is awaited no more')
})
