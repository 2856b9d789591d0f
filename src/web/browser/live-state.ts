import { type Signal, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { ask, isSignedOut, type Json, recoveries, trouble } from './ask.ts'

/** This browser's clock, each second: ages grow while nothing is heard. */
export const nowMs = signal(Date.now())

/** A server that has not answered for this long is reported as away. */
const SILENT_MS = 2500

type LiveOptions<T> = {
  /** The question whose answer is the state. */
  readonly question: string
  readonly everyMs: number
  /** Why a state says that no answer of the page is sure to be true; empty: it does not. */
  troubleOf?(state: Json<T>): string
}

/**
 * A state that the page asks for repeatedly, by short requests: a browser keeps six connections to a server for all its tabs, and one
 * that stays open for each tab would leave none for the seventh. A tab that nobody sees does not ask.
 */
export function createLiveState<T>(options: LiveOptions<T>) {
  const live: Signal<Json<T> | undefined> = signal<Json<T> | undefined>(undefined)
  /** Follows the state while it is used. */
  const useLive = () => {
    useEffect(() => {
      const stop = new AbortController()
      const follow = followState(options, live, stop.signal)
      document.addEventListener('visibilitychange', follow, { signal: stop.signal })
      follow()
      const clock = setInterval(() => {
        nowMs.value = Date.now()
      }, 1000)
      return () => {
        stop.abort()
        clearInterval(clock)
      }
    }, [])
  }
  return { live, useLive }
}

/** Returns a function that asks at once, and from then on repeatedly; called again, it does not ask twice at a time. */
function followState<T>(
  { question, everyMs, troubleOf }: LiveOptions<T>,
  live: Signal<Json<T> | undefined>,
  signal: AbortSignal,
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isAsking = false
  const look = async () => {
    clearTimeout(timer)
    if (isAsking || document.hidden || signal.aborted) return
    isAsking = true
    const late = setTimeout(() => report('The server of this page does not answer.'), SILENT_MS)
    try {
      const state = await ask<T>(question, {}, signal)
      live.value = state
      nowMs.value = Date.now()
      report(troubleOf?.(state) ?? '')
    } catch {
      if (!signal.aborted && !isSignedOut.value) report('The server of this page does not answer.')
    } finally {
      clearTimeout(late)
      isAsking = false
      if (!signal.aborted) timer = setTimeout(look, everyMs)
    }
  }
  signal.addEventListener('abort', () => clearTimeout(timer))
  return () => void look()
}

function report(text: string): void {
  const isOver = trouble.value !== '' && text === ''
  trouble.value = text
  if (isOver) recoveries.value += 1
}
