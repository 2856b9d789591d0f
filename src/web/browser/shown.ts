import { signal } from '@preact/signals'
import { DAY, HOUR, MINUTE } from '../../base/time/units.ts'

/** How texts, numbers and instants are shown. */

/** Upstream decides about these texts: control and direction characters become visible, and nobody needs more than this. */
const SHOWN_LENGTH_MAX = 400

export function shownText(text: string, lengthMax = SHOWN_LENGTH_MAX): string {
  const cut = text.length > lengthMax ? `${wholeLetters(text, lengthMax).join('')}…` : text
  return withoutControls(cut).replaceAll(/[\t\n]/g, ' ')
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
/** The longest letter in use, a flag of letters or a family, has fewer units. */
const LETTER_UNITS_MAX = 64

/** The letters that a text begins with, as readers count them: none is cut in two. */
export function wholeLetters(text: string, lengthMax: number): string[] {
  const letters = [...graphemes.segment(text.slice(0, lengthMax + LETTER_UNITS_MAX))]
  return letters.flatMap(({ segment, index }) => (index + segment.length <= lengthMax ? [segment] : []))
}

/**
 * Joiners belong to names and emoji: between letters of scripts that join them, and between pictures. Marks of numbers in Arabic and
 * Syriac are visible, and the flags of countries within a country are spelt with tags. Elsewhere such characters only hide.
 */
const keptFormats = [
  /(?<=(?![\p{scx=Latin}\p{scx=Greek}\p{scx=Cyrillic}])[\p{L}\p{M}])[\u200c\u200d](?=[\p{L}\p{M}])/u,
  /(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d(?=\p{Extended_Pictographic})/u,
  /[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2]/u,
  /(?<=\u{1f3f4}[\u{e0020}-\u{e007e}]*)[\u{e0020}-\u{e007f}]/u,
]
const controls = new RegExp(
  `${keptFormats.map(({ source }) => `(?!${source})`).join('')}(?![\\n\\t])[\\p{Cc}\\p{Cf}\\u2028\\u2029]`,
  'gu',
)

const withoutControls = (text: string): string => text.replaceAll(controls, '\ufffd')

export const shownNumber = (value: number): string => value.toLocaleString('en')

export function shownDecimal(value: number, digits = 1): string {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

export const shownCount = (count: number, noun: string): string =>
  `${shownNumber(count)} ${noun}${count === 1 ? '' : 's'}`

/** `1 person`, `2 people` */
export const shownPeople = (count: number): string => `${shownNumber(count)} ${count === 1 ? 'person' : 'people'}`

/** The zone in which instants are shown: UTC, or that of the browser. */
export const isLocalZone = signal(false)

/** `UTC`, or `Europe/Berlin` */
export const shownZone = (): string =>
  isLocalZone.value ? new Intl.DateTimeFormat('en').resolvedOptions().timeZone : 'UTC'

const lengths = { minutes: 16, seconds: 19 } as const

/** `2026-03-01 14:05`, in the chosen zone. */
export function shownInstant(instant: string | null, precision: keyof typeof lengths = 'minutes'): string {
  if (!instant) return ''
  const ms = Date.parse(instant)
  const offsetMs = isLocalZone.value ? new Date(ms).getTimezoneOffset() * MINUTE : 0
  return new Date(ms - offsetMs).toISOString().slice(0, lengths[precision]).replace('T', ' ')
}

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

/** `Tuesday` */
export const weekdayOf = (day: string): string =>
  new Date(`${day}T00:00:00Z`).toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' })

/** The day that an address holds. Undefined: none, or no day. */
export const dayIn = (text: string | null): string | undefined =>
  text !== null && /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : undefined

/** For a day that the browser adds to or takes from a date. */
export const dayPlus = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * DAY).toISOString().slice(0, 10)

/** A text of several lines as somebody else wrote it: line breaks stay, and other control and direction characters become visible. */
export function shownLines(text: string, lengthMax: number): string {
  const cut =
    text.length > lengthMax
      ? `${text.slice(0, lengthMax)}\n… ${shownNumber(text.length - lengthMax)} more characters`
      : text
  return withoutControls(cut)
}

const DATE_WIDTH = 56

/** Labels of dates stand below each day, or below each n-th day, so that no label touches the next. */
export const datesApart = (days: number, width: number): number => Math.max(1, Math.ceil((days * DATE_WIDTH) / width))
