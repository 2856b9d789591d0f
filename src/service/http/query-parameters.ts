import { listParameters } from '../../base/contract/query-shapes.ts'
import { parseInstant } from '../../base/time/instant.ts'
import type { ClosedRange } from '../store/derived-reader.ts'

const instantParameters = new Set(['startDateTime', 'endDateTime'])
const listParameterNames = new Set<string>(listParameters)

/**
 * Normalizes a query: `types=a,b`, `types=a&types=b` and `types[0]=a&types[1]=b` all become `types: ['a', 'b']`. A plus
 * sign that was sent unescaped arrives as a space before the offset of a date-time; there, and in no other parameter, it
 * becomes a plus again.
 */
export function parseQueryString(query: unknown): Record<string, string | string[]> {
  const read: Record<string, string | string[]> = Object.create(null)
  for (const [key, value] of Object.entries(Object(query))) {
    const name = key.replace(/\[\d{0,4}\]$/, '')
    const values = (Array.isArray(value) ? value : [value]).map(String)
    if (listParameterNames.has(name)) {
      const words = values.flatMap((text) => text.split(',')).filter((word) => word !== '')
      read[name] = [...(read[name] ?? []), ...words]
    } else {
      const [value = ''] = values
      read[name] = values.length > 1 ? values : instantParameters.has(name) ? restorePlus(value) : value
    }
  }
  return read
}

function restorePlus(text: string): string {
  return text.replace(/(\d) (\d{2}:?\d{2})$/, '$1+$2')
}

/** Joins two lists of allowed values. An empty list filters nothing, like an absent one: undefined. */
export function mergedFilter(some: string[] | undefined, others?: string[]): string[] | undefined {
  const all = [...(some ?? []), ...(others ?? [])]
  return all.length === 0 ? undefined : all
}

export function requestedRangeOf(query: {
  startDateTime?: string | undefined
  endDateTime?: string | undefined
}): ClosedRange {
  const dateOf = (text: string | undefined) => {
    const instant = text === undefined ? undefined : parseInstant(text)
    return instant && new Date(instant.epochMs)
  }
  return { firstAt: dateOf(query.startDateTime), lastAt: dateOf(query.endDateTime) }
}
