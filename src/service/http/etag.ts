/** The content codings of answers. Each coding has a strong tag of its own, because its bytes differ (RFC 9110, 8.8.3.3). */
export const contentCodings = ['br', 'gzip', 'deflate'] as const

/** The strong tag of the derived answers of a profile at a revision, before a content coding. */
export function etagOf(revision: string): string {
  return `"r${revision}"`
}

/** The tag of the same answer in a content coding. */
export function codedTag(tag: string, coding: string): string {
  return `${tag.slice(0, -1)}-${coding}"`
}

const tagPattern = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g

/**
 * The tag of `If-None-Match` that stands for the answer, in any coding; undefined when the caller holds no such answer.
 * The 304 carries this tag, so that a caller finds the answer that it holds.
 */
export function heldTag(ifNoneMatch: string | undefined, tag: string): string | undefined {
  if (ifNoneMatch === undefined) return undefined
  if (ifNoneMatch.trim() === '*') return tag
  const current = new Set([tag, ...contentCodings.map((coding) => codedTag(tag, coding))])
  return [...ifNoneMatch.matchAll(tagPattern)].map(([, held = '']) => held).find((held) => current.has(held))
}
