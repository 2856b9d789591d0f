import { computed, signal } from '@preact/signals'
import { act, ask, csrfToken, isSignedOut } from '../../web/browser/ask.ts'
import type { Actor } from '../access.ts'

type Session = {
  readonly actor: Actor | null
  readonly masked: boolean
  readonly values: boolean
  readonly csrf?: string
}

export const session = signal<Session>({ actor: null, masked: false, values: false })
export const mayAct = computed(() => session.value.actor?.role === 'act')

export async function openSession(): Promise<void> {
  const found = await ask<Session>('session').catch(() => undefined)
  if (!found) return
  session.value = found
  csrfToken.value = found.csrf ?? ''
  isSignedOut.value = found.actor === null
}

export async function signIn(name: string, password: string): Promise<void> {
  await act('sign-in', { name, password })
  await openSession()
}

export async function signOut(): Promise<void> {
  await act('sign-out')
  await openSession()
}

/** Names masked, health values shown: the server remembers both, and records the second. */
export async function changeSession(changes: { masked?: boolean; values?: boolean }): Promise<void> {
  session.value = { ...session.value, ...(await act<Session>('session', changes)) }
}
