/** Encodes a query, question mark and all; empty when there is nothing to ask for. Lists are joined by commas. */
export function queryOf(query: Readonly<Record<string, string | number | readonly string[] | undefined>>): string {
  let text = ''
  for (const key in query) {
    const value = query[key]
    if (value === undefined || value === '') continue
    const encoded = typeof value === 'object' ? value.map(encode).join(',') : encode(value)
    text += `${text === '' ? '?' : '&'}${key}=${encoded}`
  }
  return text
}

/** Instants and most names stand in an address as they are: only the others pay for encoding. */
const plain = /^[\w:.-]*$/

export function encode(value: string | number): string {
  return typeof value === 'string' && plain.test(value) ? value : encodeURIComponent(value)
}
