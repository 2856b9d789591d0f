import type { StateLists } from './real-state.ts'

const DIFFERENCES_MAX = 6

/** Lists are sets here; lists within their rows are not. Null and an empty list are alike. */
function textsOf(list: unknown): string[] {
  const rows = Array.isArray(list) ? list : list === null || list === undefined ? [] : [list]
  return rows.map(textOf).sort()
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (Array.isArray(value)) return value.length === 0 ? '-' : `[${value.map(textOf).join(' ')}]`
  if (typeof value === 'number') return String(Math.round(value * 1000) / 1000)
  if (typeof value === 'object') {
    const entries = Object.entries(value).filter(([, one]) => one !== undefined)
    return `{${entries
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, one]) => `${key}:${textOf(one)}`)
      .join(' ')}}`
  }
  return String(value)
}

/** Rows that one of two warehouses has and the other lacks. */
export function differencesBetween(model: StateLists, real: StateLists): string[] {
  const found = Object.keys(model).flatMap((part) => {
    const [here, there] = [textsOf(model[part]), textsOf(real[part])]
    if (here.length === there.length && here.every((text, index) => text === there[index])) return []
    const [ours, theirs] = [new Set(here), new Set(there)]
    return [
      ...here.filter((text) => !theirs.has(text)).map((text) => `${part}: only the model has ${text}`),
      ...there.filter((text) => !ours.has(text)).map((text) => `${part}: only the warehouse has ${text}`),
    ]
  })
  return found.slice(0, DIFFERENCES_MAX)
}

/** Two results of one call. */
export function differenceOf(name: string, model: unknown, real: unknown): string[] {
  const [here, there] = [textOf(model), textOf(real)]
  return here === there ? [] : [`${name}: the model answers ${here}, the warehouse ${there}`]
}
