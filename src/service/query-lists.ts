import { listParameters } from '../contract/query.ts'

const lists = new Set<string>(listParameters)

/**
 * Brings a query into one form: `types=a,b`, `types=a&types=b` and `types[0]=a&types[1]=b` all become `types: ['a', 'b']`,
 * and a plus sign that was sent unescaped, and so arrived as a space before an offset, becomes a plus again.
 */
export function readQuery(query: unknown): Record<string, string | string[]> {
  const read: Record<string, string | string[]> = Object.create(null)
  for (const [key, value] of Object.entries(Object(query))) {
    const name = key.replace(/\[\d{0,4}\]$/, '')
    const values = (Array.isArray(value) ? value : [value]).map(String)
    if (lists.has(name)) {
      const words = values.flatMap((text) => text.split(',')).filter((word) => word !== '')
      read[name] = [...(read[name] ?? []), ...words]
    } else {
      read[name] = values.length > 1 ? values : mendPlus(values[0] ?? '')
    }
  }
  return read
}

function mendPlus(text: string): string {
  return text.replace(/(\d) (\d{2}:?\d{2})$/, '$1+$2')
}
