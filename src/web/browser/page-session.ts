import { computed, type Signal, signal } from '@preact/signals'
import type { Actor } from '../access.ts'
import { act, ask, csrfToken, isSignedOut, type Json } from './ask.ts'

type PageSession = { readonly actor: Actor | null; readonly csrf?: string }

/** The session of a page, as its server sends it at `/api/session`. */
export function createPageSession<S extends PageSession>(before: S) {
  const session: Signal<S> = signal(before)
  const openSession = async (): Promise<void> => {
    const found = await ask<S>('session').catch(() => undefined)
    if (!found) return
    const told = found as Json<S> & S // a session holds texts, numbers and switches only
    session.value = told
    csrfToken.value = told.csrf ?? ''
    isSignedOut.value = told.actor === null
  }
  return {
    session,
    mayAct: computed(() => session.value.actor?.role === 'act'),
    openSession,
    signIn: async (name: string, password: string): Promise<void> => {
      await act('sign-in', { name, password })
      await openSession()
    },
    signOut: async (): Promise<void> => {
      await act('sign-out')
      await openSession()
    },
  }
}
