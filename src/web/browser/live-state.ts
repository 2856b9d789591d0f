import { type Signal, signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { hrefOf } from './address.ts'
import { ask, type Json } from './ask.ts'

export const isConnected = signal(true)
/** When the server last sent its state, by the browser's clock. */
export const heardAtMs = signal(Date.now())
/** This browser's clock, each second: ages grow while nothing is sent. */
export const nowMs = signal(Date.now())

/** A state that the server sends repeatedly; `first` is the question that has the same answer. */
export function createLiveState<T>(first: string) {
  const live: Signal<Json<T> | undefined> = signal<Json<T> | undefined>(undefined)
  /** Follows the state while it is used. */
  const useLive = () => {
    useEffect(() => {
      void ask<T>(first).then(
        (text) => {
          live.value ??= text
        },
        () => undefined,
      )
      const source = new EventSource(hrefOf('/api/live'))
      source.onmessage = ({ data }) => {
        live.value = JSON.parse(data)
        heardAtMs.value = Date.now()
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
  return { live, useLive }
}
