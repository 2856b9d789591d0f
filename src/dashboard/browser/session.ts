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

type Switches = { readonly masked?: boolean; readonly values?: boolean }

const switching = signal<Switches>({})
/** The switches as they were pressed, also before the server has confirmed it. */
export const switches = computed(() => ({ ...session.value, ...switching.value }))

/** Names masked, health values shown: the server remembers both, and records the second. Views follow when it has. */
export async function changeSession(changes: Switches): Promise<void> {
  switching.value = { ...switching.value, ...changes }
  const told = await act<Session>('session', changes).catch(() => undefined) // the switch goes back
  switching.value = {}
  if (told) session.value = { ...session.value, ...told }
}
