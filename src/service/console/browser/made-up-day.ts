import { DAY, HOUR, MINUTE } from '../../../base/time/units.ts'

/** A log as an app uploads it. */
type MadeUpLog = {
  readonly id: string
  readonly logType: string
  readonly dataType: string
  readonly value: number
  readonly unit: string
  readonly source: string
  readonly recordingMethod: string
  readonly deviceType: string
  readonly startDateTime: string
  readonly endDateTime: string
}

const hoursOfSteps = [8, 9, 12, 13, 15, 17, 18, 20]

type Fact = Pick<MadeUpLog, 'logType' | 'dataType' | 'value' | 'unit'>

/** The midnight in UTC that began the last whole day. */
export const lastMidnightMs = (nowMs: number): number => Math.floor(nowMs / DAY) * DAY - DAY

/**
 * Days as a watch writes them, with the night before each: stages of sleep, steps, heart rate. `random` is from 0 to 1.
 */
export function madeUpDays(lastDayMs: number, days: number, random: () => number): MadeUpLog[] {
  return Array.from({ length: days }, (_, ago) => madeUpDay(lastDayMs - ago * DAY, random)).flat()
}

function madeUpDay(midnightMs: number, random: () => number): MadeUpLog[] {
  return [...night(midnightMs, random), ...steps(midnightMs, random), ...heart(midnightMs, random)]
}

function log(fact: Fact, startMs: number, endMs: number): MadeUpLog {
  const at = (ms: number) => new Date(ms).toISOString().replace('.000Z', 'Z')
  return {
    id: crypto.randomUUID(),
    ...fact,
    source: 'com.example.demo',
    recordingMethod: 'automatically_recorded',
    deviceType: 'watch',
    startDateTime: at(startMs),
    endDateTime: at(endMs),
  }
}

/** From about half past ten on the evening before, five rounds of light, deep and dreaming sleep. */
function night(midnightMs: number, random: () => number): MadeUpLog[] {
  let atMs = midnightMs - 90 * MINUTE + Math.round(random() * 40) * MINUTE
  const startMs = atMs
  const logs: MadeUpLog[] = []
  for (let round = 0; round < 5; round += 1) {
    for (const [stage, minutes] of [
      ['light', 40],
      ['deep', round < 3 ? 25 : 10],
      ['rem', 10 + round * 6],
      ['awake', round === 4 ? 0 : 2],
    ] as const) {
      const endMs = atMs + Math.round(minutes * (0.85 + random() * 0.3)) * MINUTE
      if (endMs > atMs) logs.push(log(stageOf(stage, (endMs - atMs) / MINUTE), atMs, endMs))
      atMs = endMs
    }
  }
  return [...logs, log(stageOf('in_bed', (atMs - startMs) / MINUTE), startMs, atMs)]
}

const stageOf = (stage: string, minutes: number): Fact => ({
  logType: 'sleep',
  dataType: `sleep_stage_${stage}`,
  value: minutes,
  unit: 'minute',
})

function steps(midnightMs: number, random: () => number): MadeUpLog[] {
  return hoursOfSteps.flatMap((hour) =>
    [0, 15].map((minute) => {
      const startMs = midnightMs + hour * HOUR + minute * MINUTE
      const value = Math.round(250 + random() * 900)
      return log({ logType: 'activity', dataType: 'steps', value, unit: 'count' }, startMs, startMs + 15 * MINUTE)
    }),
  )
}

function heart(midnightMs: number, random: () => number): MadeUpLog[] {
  return Array.from({ length: 48 }, (_, half) => {
    const startMs = midnightMs + half * 30 * MINUTE
    const isAsleep = half < 13
    const value = Math.round((isAsleep ? 54 : 68) + random() * (isAsleep ? 5 : 24))
    return log({ logType: 'heart', dataType: 'heart_rate', value, unit: 'bpm' }, startMs, startMs)
  })
}
