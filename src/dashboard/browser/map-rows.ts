import { signal } from '@preact/signals'
import { ask, type Refusal, refusalOf } from '../../web/browser/ask.ts'
import { shownText } from '../../web/browser/shown.ts'
import type { MapAnswer } from '../routes/coverage-routes.ts'

const CHUNK_ROWS = 100
const CHUNKS_KEPT_MAX = 60
const ASKED_AT_ONCE_MAX = 3

/** The rows of a selection, asked for in portions as they come into view. */
export function openMapRows(query: Readonly<Record<string, string>>) {
  const chunks = new Map<number, { readonly rows: MapAnswer['rows']; isOld: boolean }>()
  const asking = new Set<number>()
  const stop = new AbortController()
  const summary = signal<Pick<MapAnswer, 'total' | 'counts'> | undefined>(undefined)
  const error = signal<Refusal | undefined>(undefined)
  /** Grows with each portion that has come, or that is to be asked for again. */
  const version = signal(0)
  const askFor = async (chunk: number) => {
    asking.add(chunk)
    try {
      const page = { from: String(chunk * CHUNK_ROWS), count: String(CHUNK_ROWS) }
      const { rows, ...counted } = await ask<MapAnswer>('coverage', { ...query, ...page }, stop.signal)
      if (chunks.size >= CHUNKS_KEPT_MAX) chunks.delete(chunks.keys().next().value ?? 0)
      chunks.set(chunk, { rows: rows.map((row) => ({ ...row, name: shownText(row.name, 120) })), isOld: false })
      summary.value = counted
      version.value += 1
    } catch (thrown) {
      // Rows that are there stay: the page says that the server is away, and asks again when it is back.
      if (!stop.signal.aborted && chunks.size === 0) error.value = refusalOf(thrown)
    } finally {
      asking.delete(chunk)
    }
  }
  const refresh = () => {
    error.value = undefined
    for (const chunk of chunks.values()) chunk.isOld = true
    version.value += 1
  }
  return {
    summary,
    error,
    version,
    rowAt: (index: number) => chunks.get(Math.floor(index / CHUNK_ROWS))?.rows[index % CHUNK_ROWS],
    need(firstRow: number, lastRow: number) {
      for (let chunk = Math.floor(firstRow / CHUNK_ROWS); chunk <= Math.floor(lastRow / CHUNK_ROWS); chunk += 1) {
        const kept = chunks.get(chunk)
        if ((!kept || kept.isOld) && !asking.has(chunk) && asking.size < ASKED_AT_ONCE_MAX && !error.value)
          void askFor(chunk)
      }
    },
    /** The rows stay until the new ones are here. */
    refresh,
    retry() {
      refresh()
      void askFor(0)
    },
    close: () => stop.abort(),
  }
}
