/** Encodes a query with its question mark; empty when no parameter has a value. Lists are joined by commas. */
export function queryStringOf(
  query: Readonly<Record<string, string | number | readonly string[] | undefined>>,
): string {
  let text = ''
  for (const key in query) {
    const value = query[key]
    if (value === undefined || value === '') continue
    const encoded = typeof value === 'object' ? value.map(encodeQueryValue).join(',') : encodeQueryValue(value)
    text += `${text === '' ? '?' : '&'}${key}=${encoded}`
  }
  return text
}

/** Instants and most names need no encoding; only other values pay for it. */
const unreserved = /^[\w:.-]*$/

export function encodeQueryValue(value: string | number): string {
  return typeof value === 'string' && unreserved.test(value) ? value : encodeURIComponent(value)
}
