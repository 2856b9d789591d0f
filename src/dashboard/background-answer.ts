import { SECOND } from '../base/time/units.ts'

type BackgroundAnswerOptions<T> = {
  /** How old the answer may get before it is asked for again. */
  readonly maxAgeMs: number
  ask(): Promise<T>
}

/** An answer with the time at which it was asked for. Null: none yet. */
type BackgroundAnswer<T> = { readonly value: T; readonly askedAt: Date } | null

type BackgroundAnswers<T> = {
  /** The last answer, at once. Where it is too old it is asked for again in the background; the first one is waited for a moment. */
  latest(): BackgroundAnswer<T>
}

/** A question that takes a second is asked every five seconds at most. */
const REST_PER_WORK = 4
const RETRY_AFTER_MS = 5 * SECOND

export function openBackgroundAnswer<T>({ maxAgeMs, ask }: BackgroundAnswerOptions<T>): BackgroundAnswers<T> {
  let kept: BackgroundAnswer<T> = null
  let dueAtMs = 0
  let isAsking = false
  const refresh = async () => {
    const startedAtMs = performance.now()
    try {
      const askedAt = new Date()
      kept = { value: await ask(), askedAt }
      const tookMs = performance.now() - startedAtMs
      dueAtMs = performance.now() + Math.max(maxAgeMs, tookMs * REST_PER_WORK)
    } catch {
      dueAtMs = performance.now() + RETRY_AFTER_MS // the former answer stays, with its age
    } finally {
      isAsking = false
    }
  }
  return {
    latest() {
      if (!isAsking && performance.now() >= dueAtMs) {
        isAsking = true
        void refresh()
      }
      return kept
    },
  }
}
