import { createSeededRandom, type SeededRandom } from './seeded-random.ts'

/** The stage of a minute as the timeline stores it. `up` is out of bed. */
export const sampleStageCode = { up: 0, awake: 1, light: 2, deep: 3, rem: 4 } as const

type StagePeriod = { stage: Exclude<keyof typeof sampleStageCode, 'up'>; minutes: number }

const cycleMinutes = 95

/** Early cycles have more deep sleep, and late cycles more REM sleep: shares of a cycle by its number in the night. */
const deepShare = (cycle: number) => Math.max(0.02, 0.34 - 0.1 * cycle)
const remShare = (cycle: number) => Math.min(0.36, 0.1 + 0.08 * cycle)

/**
 * The stages of a night, which fill the time in bed to the minute: the time to fall asleep, cycles of light, deep, light
 * and REM sleep with awakenings between them, and some minutes awake before getting up.
 */
export function sampleNight(seed: string, minutes: number): StagePeriod[] {
  const random = createSeededRandom(seed)
  const latency = Math.min(minutes - 1, Math.round(Math.max(3, random.normal(12, 5))))
  const lingering = Math.min(minutes - latency - 1, random.integer(1, 9))
  const night: StagePeriod[] = [{ stage: 'awake', minutes: latency }]
  let left = minutes - latency - lingering
  for (let cycle = 0; left > 0; cycle += 1) {
    for (const period of sleepCycle(cycle, random)) {
      const minutes = Math.min(left, period.minutes)
      if (minutes > 0) night.push({ stage: period.stage, minutes })
      left -= minutes
    }
  }
  if (lingering > 0) night.push({ stage: 'awake', minutes: lingering })
  return mergeEqualStages(night)
}

function sleepCycle(cycle: number, random: SeededRandom): StagePeriod[] {
  const long = Math.max(60, Math.round(random.normal(cycleMinutes, 9)))
  const deep = Math.round(long * deepShare(cycle) * random.between(0.8, 1.2))
  const rem = Math.round(long * remShare(cycle) * random.between(0.8, 1.2))
  const light = Math.max(2, long - deep - rem)
  const before = Math.ceil(light * 0.45)
  const periods: StagePeriod[] = [
    { stage: 'light', minutes: before },
    { stage: 'deep', minutes: deep },
    { stage: 'light', minutes: light - before },
    { stage: 'rem', minutes: rem },
  ]
  if (random.chance(0.45)) periods.push({ stage: 'awake', minutes: random.integer(1, 4) })
  if (random.chance(0.22)) periods.splice(3, 0, { stage: 'awake', minutes: random.integer(5, 11) })
  return periods
}

function mergeEqualStages(night: readonly StagePeriod[]): StagePeriod[] {
  const merged: StagePeriod[] = []
  for (const period of night) {
    const last = merged.at(-1)
    if (last?.stage === period.stage) last.minutes += period.minutes
    else if (period.minutes > 0) merged.push({ ...period })
  }
  return merged
}
