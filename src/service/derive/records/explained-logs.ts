import type { ExplainedLog, ExplainedLogGroup } from '../../../base/contract/score-explanation.ts'
import { compareText } from '../../../base/text/compare-text.ts'
import { dayNumberAt, isoText } from '../../../base/time/local-time.ts'
import type { DataLog, Lineage } from '../day/parsed-log.ts'
import { roundTo } from '../model/statistics.ts'

/** How many logs and groups are listed: a day may have a hundred thousand logs. `count` is the number of all. */
const logsMax = 50
const groupsMax = 50

const summedAs: readonly string[] = [
  'sleep',
  'exercise',
  'steps',
  'floors_climbed',
  'active_energy_burned',
  'basal_energy_burned',
  'total_energy_burned',
  'exercise_time',
  'active_minutes',
  'active_zone_minutes',
]

type FoldedLogs = { count: number; groups: ExplainedLogGroup[]; logs: ExplainedLog[] }

function foldedLogs(logs: readonly ExplainedLog[]): FoldedLogs {
  const sorted = logs.toSorted(byStart)
  const groups = [...Map.groupBy(sorted, groupKey).values()].flatMap(groupOf)
  const largestFirst = groups.toSorted((a, b) => b.count - a.count || compareText(groupKey(a), groupKey(b)))
  return { count: logs.length, groups: largestFirst.slice(0, groupsMax), logs: sorted.slice(0, logsMax) }
}

function groupKey({ dataType, source, deviceType, as, reason }: ExplainedLog | ExplainedLogGroup): string {
  return JSON.stringify([as, dataType, source, deviceType, reason])
}

function groupOf(logs: readonly ExplainedLog[]): ExplainedLogGroup[] {
  const first = logs[0]
  if (!first) return []
  const { dataType, source, deviceType, as, reason } = first
  const last = logs.reduce((latest, log) => (endMs(log) > endMs(latest) ? log : latest))
  const amounts = logs.flatMap(({ amount }) => amount ?? [])
  return [
    {
      ...{ dataType, source, deviceType, as },
      ...(reason === undefined ? {} : { reason }),
      count: logs.length,
      startDateTime: first.startDateTime,
      endDateTime: last.endDateTime,
      ...(summedAs.includes(as) && amounts.length > 0
        ? {
            amount: roundTo(
              amounts.reduce((sum, amount) => sum + amount, 0),
              2,
            ),
          }
        : {}),
    },
  ]
}

const endMs = ({ endDateTime }: ExplainedLog) => Date.parse(endDateTime)

/** Collects what became of each log, once for each log and reason; logs that were left out only near the day. */
export function createLineageListener(day: number) {
  const [used, leftOut] = [new Map<string, ExplainedLog>(), new Map<string, ExplainedLog>()]
  const isNear = (log: DataLog) => Math.abs(dayNumberAt(log.startMs, log.startOffset) - day) <= 1
  const lineage: Lineage = {
    used: (log, as, amount) =>
      void used.set(`${log.id} ${as}`, { ...explainedLog(log, as), amount: roundTo(amount, 2) }),
    leftOut: (log, as, reason) => {
      if (isNear(log)) leftOut.set(`${log.id} ${as} ${reason}`, { ...explainedLog(log, as), reason })
    },
  }
  return {
    lineage,
    used: (isRelevant: (log: ExplainedLog) => boolean) => foldedLogs([...used.values()].filter(isRelevant)),
    leftOut: (isRelevant: (log: ExplainedLog) => boolean) => foldedLogs([...leftOut.values()].filter(isRelevant)),
  }
}

function byStart(a: ExplainedLog, b: ExplainedLog): number {
  return Date.parse(a.startDateTime) - Date.parse(b.startDateTime) || compareText(a.id, b.id)
}

function explainedLog(
  { id, dataType, source, deviceType, startMs, endMs, startOffset, endOffset, value }: DataLog,
  as: string,
) {
  const [startDateTime, endDateTime] = [isoText(startMs, startOffset), isoText(endMs, endOffset)]
  return { id, dataType, source, deviceType, startDateTime, endDateTime, value, as }
}
