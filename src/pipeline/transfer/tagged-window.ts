import { hash } from 'node:crypto'
import type { Span } from '../../base/time/spans.ts'
import type { PulledStream } from './stream.ts'

/** Where the tag of a window is kept. A snapshot is asked for in one way, whatever the window: it has one tag. */
export const taggedSpanOf = ({ kind }: Pick<PulledStream, 'kind'>, window: Span): Span =>
  kind === 'snapshot' ? { startMs: 0, endMs: 0 } : window

/**
 * A hash of what a window is asked with. A tag stands for the answer to one request: where the catalogue asks otherwise
 * than when the tag came, the tag says nothing.
 */
export function requestHashOf(stream: PulledStream, window: Span): number {
  const last = lastHashes.get(stream)
  if (last?.startMs === window.startMs && last.endMs === window.endMs) return last.requestHash
  const requestHash = newRequestHash(stream, window)
  lastHashes.set(stream, { startMs: window.startMs, endMs: window.endMs, requestHash })
  return requestHash
}

/** The last window of each stream: a nightly asks for the same windows of everybody. */
const lastHashes = new WeakMap<PulledStream, Span & { readonly requestHash: number }>()

function newRequestHash({ kind, operation, query }: PulledStream, window: Span): number {
  const asked = kind === 'snapshot' ? '' : JSON.stringify(query?.(window) ?? {})
  return hash('md5', `${operation.method} ${operation.path} ${asked}`, 'buffer').readInt32BE(0)
}
