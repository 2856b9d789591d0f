import { DAY, HOUR, MINUTE } from '../../src/base/time/units.ts'

/** A change of a zone's clocks. Offsets are in milliseconds east of UTC: before the instant, and from it on. */
export type ZoneChange = {
  readonly zone: string
  readonly atMs: number
  readonly beforeMs: number
  readonly afterMs: number
}

const fromMs = Date.UTC(2018, 0, 1)
const untilMs = Date.UTC(2028, 0, 1)

const allZones: readonly string[] = Intl.supportedValuesOf('timeZone')

/**
 * All changes of all zones in the ten years from 2018, by the names of offsets that the runtime prints (`GMT+05:45`): the
 * program itself reads the clock's digits. No zone changes twice within a week.
 */
export function zoneChanges(): ZoneChange[] {
  return allZones.flatMap((zone) => changesOf(zone, namedOffsetMs(zone)))
}

function changesOf(zone: string, offsetMs: (atMs: number) => number): ZoneChange[] {
  const changes: ZoneChange[] = []
  let beforeMs = offsetMs(fromMs)
  for (let atMs = fromMs; atMs < untilMs; atMs += 7 * DAY) {
    const afterMs = offsetMs(atMs + 7 * DAY)
    if (afterMs === beforeMs) continue
    changes.push({
      zone,
      atMs: firstWith(afterMs, offsetMs, { afterMs: atMs, untilMs: atMs + 7 * DAY }),
      beforeMs,
      afterMs,
    })
    beforeMs = afterMs
  }
  return changes
}

/** The first minute with this offset, by halving. */
function firstWith(wantedMs: number, offsetMs: (atMs: number) => number, span: { afterMs: number; untilMs: number }) {
  let [low, high] = [span.afterMs, span.untilMs]
  while (high - low > MINUTE) {
    const middle = low + Math.floor((high - low) / MINUTE / 2) * MINUTE
    if (offsetMs(middle) === wantedMs) high = middle
    else low = middle
  }
  return high
}

function namedOffsetMs(zone: string): (atMs: number) => number {
  const format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' })
  return (atMs) => {
    const [, sign, hours, minutes] = /GMT(?:([+-])(\d\d):(\d\d))?$/.exec(format.format(atMs)) ?? []
    const ms = Number(hours ?? 0) * HOUR + Number(minutes ?? 0) * MINUTE
    return sign === '-' ? -ms : ms
  }
}
