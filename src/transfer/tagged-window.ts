import { hash } from 'node:crypto'
import type { Span } from '../time/spans.ts'
import type { PulledStream } from './stream.ts'

/** Where the tag of a window is kept. A snapshot is asked for in one way, whatever the window: it has one tag. */
export const taggedSpanOf = ({ kind }: Pick<PulledStream, 'kind'>, window: Span): Span =>
  kind === 'snapshot' ? { startMs: 0, endMs: 0 } : window

/**
 * A hash of what a window is asked with. A tag stands for the answer to one request: where the catalogue asks otherwise
 * than when the tag came, the tag says nothing.
 */
export function requestHashOf({ kind, operation, query }: PulledStream, window: Span): number {
  const asked = kind === 'snapshot' ? '' : JSON.stringify(query?.(window) ?? {})
  return hash('md5', `${operation.method} ${operation.path} ${asked}`, 'buffer').readInt32BE(0)
}
