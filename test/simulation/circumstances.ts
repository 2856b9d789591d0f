import { pulledStreams, pushedStreams } from '../../config/streams.ts'
import { DAY, HOUR, SECOND } from '../../src/base/time/units.ts'
import type { SettleSettings } from '../../src/pipeline/ledger/settle-time.ts'
import type { Belief } from '../../src/pipeline/ledger/suspicion.ts'
import type { Catalogue, PulledStream } from '../../src/pipeline/transfer/stream.ts'

/** Periods begin and end at multiples of this, so that everything meets everything. */
export const UNIT = 6 * HOUR
/** Two days before the clocks of Europe change. */
export const BEGIN = Date.parse('2026-03-27T00:00:00Z')
export const HISTORY = 28 * UNIT
/** How long upstream revises a record without a push. */
export const SETTLE = 12 * UNIT
export const LONGEST = 15 * UNIT
/** How long a request may be under way after its worker died. */
export const UNDER_WAY_MAX = 2 * 60 * SECOND
/** How far a process's clock may be ahead of the database's: beyond, it refuses to work. */
export const SKEW = 30 * SECOND

export const streamNames = ['biomarkers', 'tags', 'scores', 'demographics'] as const
export type StreamName = (typeof streamNames)[number]
export const LOGS = 'data-logs'

/** The settings of one process: two versions of the program may work beside each other. */
export type ProcessSettings = {
  readonly catalogue: Catalogue
  readonly settle: SettleSettings
  readonly belief: Belief
  readonly zone: string
}

const touchedBy: Record<StreamName, PulledStream['touchedBy']> = {
  biomarkers: { [LOGS]: { beforeMs: 2 * UNIT, afterMs: 3 * UNIT } },
  tags: { [LOGS]: { beforeMs: 0, afterMs: 1 } },
  scores: { [LOGS]: { beforeMs: UNIT, afterMs: Number.POSITIVE_INFINITY } },
  demographics: {},
}

/** The catalogue of this world: four streams as they are, with short windows and a short reach. */
function catalogueWith(windowMs: number, settleMs: number): Catalogue {
  const pulled = streamNames.flatMap((name) => {
    const stream: PulledStream | undefined = pulledStreams.find((one) => one.name === name)
    if (!stream) return []
    const small = stream.kind === 'windowed' ? { windowMs, settleMs } : {}
    const longest = stream.longestMs === undefined ? {} : { longestMs: LONGEST }
    return [{ ...stream, ...small, ...longest, touchedBy: touchedBy[name] }]
  })
  return { pulled, pushed: pushedStreams.filter(({ name }) => name === LOGS) }
}

type Version = {
  readonly windowMs: number
  readonly settleMs: number
  readonly intervalsMs: readonly number[]
  readonly belief: Belief
  readonly zone: string
}

const settingsOf = ({ windowMs, settleMs, intervalsMs, belief, zone }: Version): ProcessSettings => ({
  catalogue: catalogueWith(windowMs, settleMs),
  settle: { minMs: settleMs, maxMs: settleMs, intervalsMs },
  belief,
  zone,
})

export const SECOND_READING = 5 * SECOND

/** Two versions of the settings, and the time zones of their processes. */
export const versions: readonly [ProcessSettings, ProcessSettings] = [
  settingsOf({
    windowMs: 28 * UNIT,
    settleMs: SETTLE,
    intervalsMs: [HOUR, 6 * HOUR, DAY],
    belief: { goneShareMax: 1, spacingMs: SECOND_READING },
    zone: 'UTC',
  }),
  settingsOf({
    windowMs: 11 * UNIT,
    settleMs: SETTLE + 2 * UNIT,
    intervalsMs: [2 * HOUR, 5 * HOUR],
    belief: { goneShareMax: 0.5, spacingMs: SECOND_READING },
    zone: 'Pacific/Chatham',
  }),
]
