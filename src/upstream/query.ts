/** What the list operations take. Both ends of the window belong to it upstream. */
export type ListQuery = {
  readonly startDateTime?: string | undefined
  readonly endDateTime?: string | undefined
  readonly types?: readonly string[] | undefined
  readonly categories?: readonly string[] | undefined
  readonly name?: readonly string[] | undefined
  readonly category?: readonly string[] | undefined
  readonly periodicity?: readonly string[] | undefined
  readonly version?: readonly string[] | undefined
}

/** Encodes a query, question mark and all; empty when there is nothing to ask for. Lists are joined by commas. */
export function queryOf(query: Readonly<Record<string, string | number | readonly string[] | undefined>>): string {
  let text = ''
  for (const key in query) {
    const value = query[key]
    if (value === undefined || value === '') continue
    const encoded = typeof value === 'object' ? value.map(encodeURIComponent).join(',') : encodeURIComponent(value)
    text += `${text === '' ? '?' : '&'}${key}=${encoded}`
  }
  return text
}
