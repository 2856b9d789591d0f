import { createRandom, type Random } from './random.ts'

/** What a sleeper's minute is. `up` is out of bed. */
export const stages = ['up', 'awake', 'light', 'deep', 'rem'] as const
export type Stage = (typeof stages)[number]
export const stageCode = { up: 0, awake: 1, light: 2, deep: 3, rem: 4 } as const satisfies Record<Stage, number>

export type Stretch = { stage: Exclude<Stage, 'up'>; minutes: number }

const cycleMinutes = 95

/** Deep sleep fills the early cycles and dream sleep the late ones: shares of a cycle by its place in the night. */
const deepShare = (cycle: number) => Math.max(0.02, 0.34 - 0.1 * cycle)
const remShare = (cycle: number) => Math.min(0.36, 0.1 + 0.08 * cycle)

/**
 * A night as stretches that fill the time in bed to the minute: falling asleep, cycles of light, deep, light and dream
 * sleep with awakenings between them, and some minutes awake before getting up.
 */
export function nightOf(seed: string, minutes: number): Stretch[] {
  const random = createRandom(seed)
  const latency = Math.min(minutes - 1, Math.round(Math.max(3, random.around(12, 5))))
  const lingering = Math.min(minutes - latency - 1, random.whole(1, 9))
  const night: Stretch[] = [{ stage: 'awake', minutes: latency }]
  let left = minutes - latency - lingering
  for (let cycle = 0; left > 0; cycle += 1) {
    for (const stretch of cycleOf(cycle, random)) {
      const taken = Math.min(left, stretch.minutes)
      if (taken > 0) night.push({ stage: stretch.stage, minutes: taken })
      left -= taken
    }
  }
  if (lingering > 0) night.push({ stage: 'awake', minutes: lingering })
  return joined(night)
}

function cycleOf(cycle: number, random: Random): Stretch[] {
  const long = Math.max(60, Math.round(random.around(cycleMinutes, 9)))
  const deep = Math.round(long * deepShare(cycle) * random.between(0.8, 1.2))
  const rem = Math.round(long * remShare(cycle) * random.between(0.8, 1.2))
  const light = Math.max(2, long - deep - rem)
  const before = Math.ceil(light * 0.45)
  const stretches: Stretch[] = [
    { stage: 'light', minutes: before },
    { stage: 'deep', minutes: deep },
    { stage: 'light', minutes: light - before },
    { stage: 'rem', minutes: rem },
  ]
  if (random.chance(0.45)) stretches.push({ stage: 'awake', minutes: random.whole(1, 4) })
  if (random.chance(0.22)) stretches.splice(3, 0, { stage: 'awake', minutes: random.whole(5, 11) })
  return stretches
}

function joined(night: readonly Stretch[]): Stretch[] {
  const out: Stretch[] = []
  for (const stretch of night) {
    const last = out.at(-1)
    if (last?.stage === stretch.stage) last.minutes += stretch.minutes
    else if (stretch.minutes > 0) out.push({ ...stretch })
  }
  return out
}
