import { batch, computed, signal } from '@preact/signals'
import type { Actor } from '../../web/access.ts'
import { act, createPageSession, type Json, visitChanges } from '../../web/browser/ask.ts'
import { createLiveState } from '../../web/browser/live-state.ts'
import type { Now } from '../read-now.ts'

type Session = {
  readonly actor: Actor | null
  readonly masked: boolean
  readonly values: boolean
  readonly csrf?: string
}

export const { session, mayAct, openSession, signIn, signOut } = createPageSession<Session>({
  actor: null,
  masked: false,
  values: false,
})

type Switches = { readonly masked?: boolean; readonly values?: boolean }

const switching = signal<Switches>({})
/** The switches as they were pressed, also before the server has confirmed it. */
export const switches = computed(() => ({ ...session.value, ...switching.value }))

/** Names masked, health values shown: the server remembers both, and records the second. Views follow when it has. */
export async function changeSession(changes: Switches): Promise<void> {
  switching.value = { ...switching.value, ...changes }
  const visit = await act<Session>('session', changes).catch(() => undefined) // the switch goes back
  batch(() => {
    switching.value = {}
    if (!visit) return
    session.value = { ...session.value, ...visit }
    visitChanges.value += 1
  })
}

export type LiveNow = Json<Now>

/** The state of the pipeline as the server last reported it; `undefined`: not yet. */
export const { live, useLive } = createLiveState<Now>({
  question: 'now',
  everyMs: 2000,
  troubleOf: ({ isWarehouseAway, sentence }) => (isWarehouseAway ? sentence.text : ''),
})

/** The part of the live state that a list depends on, as `useAnswer` follows it. */
export const followed = (choose: (now: LiveNow) => unknown): string | undefined =>
  live.value && JSON.stringify(choose(live.value))

/** For a list whose changes no count is sure to show: one row may come and go between two counts. */
export const followedCounts = () => ({ follow: followed(({ counts }) => counts?.askedAt) })
