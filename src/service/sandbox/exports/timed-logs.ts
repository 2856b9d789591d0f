import { checkedInstant, formatInstant } from '../../../base/time/instant.ts'
import { MINUTE, SECOND } from '../../../base/time/units.ts'
import type { SampleLog } from '../people/sample-logs.ts'

/** A log with its times as numbers, and how far its clock is ahead of UTC. */
export type TimedLog = {
  readonly log: SampleLog
  readonly startMs: number
  readonly endMs: number
  readonly wallShiftMs: number
}

export function timedLog(log: SampleLog): TimedLog {
  const [start, end] = [checkedInstant(log.startDateTime), checkedInstant(log.endDateTime)]
  return { log, startMs: start.epochMs, endMs: end.epochMs, wallShiftMs: start.offsetMinutes * MINUTE }
}

export const ofType = (timed: readonly TimedLog[], dataType: string | RegExp) =>
  timed.filter(({ log }) => (typeof dataType === 'string' ? log.dataType === dataType : dataType.test(log.dataType)))

/** `2026-03-29T07:45:03.000` on the clock of the log. */
export const wallText = (atMs: number, { wallShiftMs }: TimedLog): string =>
  new Date(atMs + wallShiftMs).toISOString().slice(0, -1)

/** `2026-03-29 07:45:03` on the clock of the log. */
export const wallSeconds = (atMs: number, timed: TimedLog): string =>
  wallText(atMs, timed).slice(0, 19).replace('T', ' ')

/** `2026-03-29T07:45:03+01:00`, in the offset of the log. */
export const offsetText = (atMs: number, { wallShiftMs }: TimedLog): string =>
  formatInstant({ epochMs: atMs, offsetMinutes: wallShiftMs / MINUTE })

/** The nights of a person, each with its stages in order of time. */
export const nightsOf = (timed: readonly TimedLog[]) =>
  ofType(timed, 'sleep_stage_in_bed').map((night) => ({
    night,
    stages: timed.filter(({ log }) => log.parentId !== undefined && log.parentId === night.log.id),
  }))

export const minutesOf = ({ startMs, endMs }: TimedLog): number => (endMs - startMs) / MINUTE
export const secondsOf = ({ startMs, endMs }: TimedLog): number => (endMs - startMs) / SECOND

const textOf = (cell: string | number | undefined, delimiter: string): string => {
  const text = String(cell ?? '')
  return text.includes(delimiter) || text.includes('"') ? `"${text.replaceAll('"', '""')}"` : text
}

export type Cells = ReadonlyArray<string | number | undefined>

/** The text of a table: the names of its columns, and its rows. */
export const tableText = (columns: Cells, rows: readonly Cells[], delimiter = ','): Buffer =>
  Buffer.from(
    `${[columns, ...rows].map((row) => row.map((cell) => textOf(cell, delimiter)).join(delimiter)).join('\n')}\n`,
  )
