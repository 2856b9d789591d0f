type Kind = 'name' | 'instant' | 'instant?' | 'text?' | 'number?' | 'flag?' | 'list?'

export type QuickCheck = (record: object) => boolean

/**
 * A check that says yes only to what the contract's schema surely accepts, at a tenth of its cost. A no says nothing:
 * then the schema itself is asked. Made as one function of plain comparisons per stream.
 */
export function quickCheck(fields: Readonly<Record<string, Kind>>): QuickCheck {
  const checks = Object.entries(fields).map(([key, kind]) => ({ key, fits: fitting[kind] }))
  return (record) => {
    const values = record as Readonly<Record<string, unknown>> // an object that JSON.parse made
    for (const { key, fits } of checks) if (!fits(values[key])) return false
    return true
  }
}

const fitting: Readonly<Record<Kind, (value: unknown) => boolean>> = {
  name: (value) => typeof value === 'string' && value !== '',
  instant: isPlainInstant,
  'instant?': (value) => value === undefined || value === null || isPlainInstant(value),
  // No null here: for some of these fields the schema takes only what is absent.
  'text?': (value) => value === undefined || typeof value === 'string',
  'number?': (value) => value === undefined || (typeof value === 'number' && Number.isFinite(value)),
  'flag?': (value) => value === undefined || typeof value === 'boolean',
  'list?': (value) => value === undefined || Array.isArray(value),
}

const DIGIT_0 = 48

/**
 * `2026-07-11T00:00:00+12:00`, `…Z`, with or without a fraction; of the days only 1 to 28, so that no calendar is
 * needed. The rest goes the slow way.
 */
function isPlainInstant(value: unknown): boolean {
  if (typeof value !== 'string' || value.length < 20 || value.length > 35) return false
  if (value[4] !== '-' || value[7] !== '-' || value[10] !== 'T' || value[13] !== ':' || value[16] !== ':') return false
  const day = two(value, 8)
  const month = two(value, 5)
  const century = two(value, 0)
  const year = two(value, 2)
  if (!(day >= 1 && day <= 28 && month >= 1 && month <= 12 && century >= 1 && year >= 0)) return false
  if (!(two(value, 11) <= 23 && two(value, 14) <= 59 && two(value, 17) <= 59)) return false
  let at = 19
  if (value[at] === '.') {
    const from = at + 1
    at = from
    while (isDigit(value.charCodeAt(at))) at += 1
    if (at === from || at - from > 9) return false
  }
  if (value[at] === 'Z') return value.length === at + 1
  if (value[at] !== '+' && value[at] !== '-') return false
  return value.length === at + 6 && value[at + 3] === ':' && two(value, at + 1) <= 13 && two(value, at + 4) <= 59
}

/** Two digits as a number; NaN, which is neither above nor below anything, where they are not two digits. */
function two(text: string, at: number): number {
  const tens = text.charCodeAt(at)
  const ones = text.charCodeAt(at + 1)
  return isDigit(tens) && isDigit(ones) ? (tens - DIGIT_0) * 10 + ones - DIGIT_0 : Number.NaN
}

function isDigit(code: number): boolean {
  return code >= DIGIT_0 && code <= DIGIT_0 + 9
}
