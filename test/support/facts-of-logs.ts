import { checkedInstant } from '../../src/base/time/instant.ts'
import type { DayFacts } from '../../src/service/derive/day/facts.ts'
import { factsOfDays } from '../../src/service/derive/day/facts-of-days.ts'

type PostedLog = {
  readonly id: string
  readonly parentId?: string | null | undefined
  readonly dataType: string
  readonly value: number
  readonly unit: string
  readonly source: string
  readonly recordingMethod: string
  readonly deviceType: string
  readonly deviceId?: string | null | undefined
  readonly startDateTime: string
  readonly endDateTime: string
}

/** The facts that the service derives day by day from logs as they are posted, about nobody in particular. */
export function factsOfLogs(logs: readonly PostedLog[]): DayFacts[] {
  const parsed = logs.map((log) => {
    const [start, end] = [checkedInstant(log.startDateTime), checkedInstant(log.endDateTime)]
    return {
      ...log,
      parentId: log.parentId ?? null,
      deviceId: log.deviceId ?? null,
      periodicity: null,
      modifiedMs: null,
      startMs: start.epochMs,
      endMs: end.epochMs,
      startOffset: start.offsetMinutes,
      endOffset: end.offsetMinutes,
    }
  })
  return factsOfDays({
    logs: parsed,
    demographics: { birthDate: null, age: null, gender: null },
    asOfMs: Number.MAX_SAFE_INTEGER,
  })
}
