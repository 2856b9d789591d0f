import { DAY, HOUR, MINUTE } from '../../base/time/units.ts'

/** How texts, numbers and instants are shown. Instants are UTC everywhere, as on the command line. */

/** Upstream decides about these texts: control and direction characters become visible, and nobody needs more than this. */
const SHOWN_LENGTH_MAX = 400

export function shownText(text: string, lengthMax = SHOWN_LENGTH_MAX): string {
  const cut = text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text
  return cut.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, (letter) => (/[\t\n]/.test(letter) ? ' ' : '\ufffd'))
}

export const shownNumber = (value: number): string => value.toLocaleString('en')

export function shownDecimal(value: number, digits = 1): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

/** 100 % means all: a missing part is never rounded away. */
export const shownShare = (share: number): string => `${(share < 1 ? Math.min(share * 100, 99.9) : 100).toFixed(1)} %`

export const shownCount = (count: number, noun: string): string =>
  `${shownNumber(count)} ${noun}${count === 1 ? '' : 's'}`

/** `1 person`, `2 people` */
export const shownPeople = (count: number): string => `${shownNumber(count)} ${count === 1 ? 'person' : 'people'}`

/** `2026-03-01 14:05` */
export const shownInstant = (instant: string | null): string => (instant ? instant.slice(0, 16).replace('T', ' ') : '')

export function shownSpan(ms: number): string {
  const abs = Math.abs(ms)
  if (abs < 1000) return `${Math.round(abs)} ms`
  if (abs < MINUTE) return `${Math.round(abs / 1000)} s`
  if (abs < 10 * MINUTE) return inUnits(abs, [MINUTE, 'min'], [1000, 's'])
  if (abs < HOUR) return `${Math.floor(abs / MINUTE)} min`
  if (abs < 2 * DAY) return inUnits(abs, [HOUR, 'h'], [MINUTE, 'min'])
  return `${Math.floor(abs / DAY)} days`
}

type Unit = readonly [ms: number, name: string]

/** `2 h 5 min`, and `2 h` rather than `2 h 0 min`. */
function inUnits(ms: number, large: Unit, small: Unit): string {
  const rest = Math.floor((ms % large[0]) / small[0])
  return `${Math.floor(ms / large[0])} ${large[1]}${rest > 0 ? ` ${rest} ${small[1]}` : ''}`
}

/** `3 min ago`, `in 2 h`. */
export function shownAge(instant: string | null, nowMs: number): string {
  if (!instant) return 'never'
  const ms = nowMs - Date.parse(instant)
  if (Math.abs(ms) < 1500) return 'just now'
  return ms > 0 ? `${shownSpan(ms)} ago` : `in ${shownSpan(ms)}`
}
/** For a day that the browser adds to or takes from a date. */
export const dayPlus = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY).toISOString().slice(0, 10)

/** A text of several lines as somebody else wrote it: line breaks stay, and other control and direction characters become visible. */
export function shownLines(text: string, lengthMax: number): string {
  const cut =
    text.length > lengthMax
      ? `${text.slice(0, lengthMax)}\n… ${shownNumber(text.length - lengthMax)} more characters`
      : text
  return cut.replaceAll(/(?![\n\t])[\p{Cc}\p{Cf}\u2028\u2029]/gu, '\ufffd')
}

const DATE_WIDTH = 56

/** Labels of dates stand below each day, or below each n-th day, so that no label touches the next. */
export const datesApart = (days: number, width: number): number => Math.max(1, Math.ceil((days * DATE_WIDTH) / width))
