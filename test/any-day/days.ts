import { parseArgs } from 'node:util'

/** A time zone, and the moment to start at: a number of days from now, or a local time in that zone. */
export type Day = { readonly at: string; readonly zone: string }

export const DAY_MS = 86_400_000

const moments = ['+1d', '+40d', '+400d', '2028-02-29T12:00', '12-31T23:50']
const zones = ['UTC', 'Pacific/Auckland', 'America/New_York']

/** Changes of month and year, a leap day, and records that expire after a day, a month or a year. */
export const days: readonly Day[] = moments.flatMap((at) => zones.map((zone) => ({ at, zone })))

/** Round robin by date. */
function dayOfDate(nowMs: number): Day {
  const day = days[Math.floor(nowMs / DAY_MS) % days.length]
  if (!day) throw new Error('there is no day to choose from')
  return day
}

type Plan = {
  readonly day: Day
  /** The words that repeat the run on another date. */
  readonly again: readonly string[]
  /** The program that runs under the clock of that day, with its words: Vitest unless another is given. */
  readonly program: readonly string[]
}

/** Each date has a day of the list and an order of the tests; the words may choose others. */
export function planRun(words: readonly string[], nowMs: number): Plan {
  const { values, positionals } = parseArgs({
    args: [...words],
    options: {
      at: { type: 'string' },
      zone: { type: 'string' },
      seed: { type: 'string' },
      program: { type: 'string' },
      project: { type: 'string', multiple: true, default: [] },
    },
    allowPositionals: true,
  })
  const { at, zone, program, project, seed = String(Math.floor(nowMs / DAY_MS)) } = values
  const day = at || zone ? { at: at ?? '+0d', zone: zone ?? 'UTC' } : dayOfDate(nowMs)
  const ofDay = ['--at', day.at, '--zone', day.zone]
  if (program)
    return { day, again: [...ofDay, '--program', program, ...positionals], program: [program, ...positionals] }
  const order = ['--sequence.shuffle', '--sequence.seed', seed]
  const chosen = [...project.flatMap((name) => ['--project', name]), ...positionals]
  return {
    day,
    again: [...ofDay, '--seed', seed, ...chosen],
    program: ['node_modules/vitest/vitest.mjs', 'run', '--config', 'config/vitest.config.ts', ...order, ...chosen],
  }
}

/** How far to move the clock. A date without a year is the next date of that name. */
export function shiftMs({ at, zone }: Day, nowMs: number): number {
  const ahead = /^\+(\d+)d$/.exec(at)
  if (ahead) return Number(ahead[1]) * DAY_MS
  const year = new Date(nowMs).getUTCFullYear()
  const texts = /^\d\d-\d\dT/.test(at) ? [year - 1, year, year + 1].map((each) => `${each}-${at}`) : [at]
  const moments = texts.map((text) => instantIn(zone, text))
  const moment = moments.find((each) => each > nowMs) ?? moments.at(-1) ?? Number.NaN
  if (Number.isNaN(moment)) throw new Error(`no moment: ${at}. Give +40d, 2028-02-29T12:00 or 12-31T23:50`)
  return moment - nowMs
}

/** The instant at which a clock of that zone shows this time. */
function instantIn(zone: string, local: string): number {
  const asUtc = Date.parse(`${local}Z`)
  const shown = (ms: number) =>
    Date.parse(`${new Date(ms).toLocaleString('sv', { timeZone: zone }).replace(' ', 'T')}Z`)
  const first = asUtc - (shown(asUtc) - asUtc)
  return first - (shown(first) - asUtc)
}
