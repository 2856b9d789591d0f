import { signal } from '@preact/signals'
import { ask, type Refusal, refusalOf } from '../../web/browser/ask.ts'
import { shownText } from '../../web/browser/shown.ts'
import type { MapAnswer } from '../routes/coverage-routes.ts'

const CHUNK_ROWS = 100
const CHUNKS_KEPT_MAX = 60
const ASKED_AT_ONCE_MAX = 3

/** The rows of a selection, asked for in portions as they come into view. */
export function openMapRows(query: Readonly<Record<string, string>>) {
  const chunks = new Map<number, MapAnswer['rows']>()
  const asking = new Set<number>()
  const stop = new AbortController()
  const summary = signal<Pick<MapAnswer, 'total' | 'counts'> | undefined>(undefined)
  const error = signal<Refusal | undefined>(undefined)
  /** Grows with each portion that has come. */
  const version = signal(0)
  const askFor = async (chunk: number) => {
    asking.add(chunk)
    try {
      const page = { from: String(chunk * CHUNK_ROWS), count: String(CHUNK_ROWS) }
      const { rows, ...told } = await ask<MapAnswer>('coverage', { ...query, ...page }, stop.signal)
      if (chunks.size >= CHUNKS_KEPT_MAX) chunks.delete(chunks.keys().next().value ?? 0)
      chunks.set(
        chunk,
        rows.map((row) => ({ ...row, name: shownText(row.name, 120) })),
      )
      summary.value = told
      version.value += 1
    } catch (thrown) {
      if (!stop.signal.aborted) error.value = refusalOf(thrown)
    } finally {
      asking.delete(chunk)
    }
  }
  return {
    summary,
    error,
    version,
    rowAt: (index: number) => chunks.get(Math.floor(index / CHUNK_ROWS))?.[index % CHUNK_ROWS],
    need(firstRow: number, lastRow: number) {
      for (let chunk = Math.floor(firstRow / CHUNK_ROWS); chunk <= Math.floor(lastRow / CHUNK_ROWS); chunk += 1) {
        if (!chunks.has(chunk) && !asking.has(chunk) && asking.size < ASKED_AT_ONCE_MAX && !error.value)
          void askFor(chunk)
      }
    },
    close: () => stop.abort(),
  }
}
