import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { ask, type Json } from '../../web/browser/ask.ts'
import type { Now } from '../read-now.ts'

export type LiveNow = Json<Now>

/** The state of the pipeline as it was last told; `undefined`: not yet. */
export const live = signal<LiveNow | undefined>(undefined)
export const isConnected = signal(true)
/** This browser's clock, each second: ages grow while nothing is told. */
export const nowMs = signal(Date.now())

/** Follows the state of the pipeline while it is used. */
export function useLive(): void {
  useEffect(() => {
    void ask<Now>('now').then(
      (told) => {
        live.value ??= told
      },
      () => undefined,
    )
    const source = new EventSource('/api/live')
    source.onmessage = ({ data }) => {
      live.value = JSON.parse(data)
      isConnected.value = true
    }
    source.onerror = () => {
      isConnected.value = false
    }
    const clock = setInterval(() => {
      nowMs.value = Date.now()
    }, 1000)
    return () => {
      source.close()
      clearInterval(clock)
    }
  }, [])
}
