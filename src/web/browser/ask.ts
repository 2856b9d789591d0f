import { computed, type Signal, signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { Actor } from '../access.ts'
import { hrefOf } from './address.ts'

/** A value as JSON carries it: instants are texts. */
export type Json<T> = T extends Date
  ? string
  : T extends readonly (infer E)[]
    ? Json<E>[]
    : T extends object
      ? { [K in keyof T]: Json<T[K]> }
      : T

/** An error that the server sent: a message, and what to do. */
export class Refusal extends Error {
  readonly hint: string
  readonly status: number

  constructor(message: string, { hint = '', status }: { hint?: string; status: number }) {
    super(message)
    this.hint = hint
    this.status = status
  }
}

/** Sent with each question and change; it comes with the session. */
const csrfToken = signal('')
/**
 * Where the storage of the page keeps the token of a person who has signed in, for other tabs and the next load. Our cookies go to each
 * port of this host; the storage is of this one.
 */
const keptToken = `token${hrefOf('')}`
/** Grows when the visit's answers may have changed: names are masked, values are shown. The page asks again. */
export const visitChanges = signal(0)
/** The session has ended, or none has begun. */
export const isSignedOut = signal(false)

async function send<T>(path: string, init: RequestInit): Promise<T> {
  const response = await fetch(path, init).catch(() => {
    throw new Refusal('The server does not answer.', { hint: 'Is it still running? This page tries again.', status: 0 })
  })
  if (response.status === 401) isSignedOut.value = true
  const body = await response.json().catch(() => ({}))
  if (response.ok) return body
  throw new Refusal(body.error ?? `The server answers ${response.status}.`, {
    hint: body.hint,
    status: response.status,
  })
}

let opening: Promise<unknown> | undefined

/** The session of this browser, with its token. */
function readSession<S extends { readonly csrf?: string }>(): Promise<Json<S>> {
  csrfToken.value = localStorage.getItem(keptToken) ?? ''
  opening ??= act<S>('session/read')
    .then((found) => {
      csrfToken.value = found.csrf ?? ''
      return found
    })
    .finally(() => {
      opening = undefined
    })
  return opening as Promise<Json<S>> // each page has one kind of session
}

/** Reads the session again, and shows whose it is. */
let openAgain = async (): Promise<void> => undefined

/** Asks the server; once more with a new token where the server was started again, or another person signed in, since the page came. */
export async function ask<T>(
  name: string,
  query: Readonly<Record<string, string>> = {},
  abort?: AbortSignal,
): Promise<Json<T>> {
  return act<T>(name, query, abort).catch(async (error: unknown) => {
    if (!(error instanceof Refusal) || error.status !== 403) throw error
    await openAgain()
    return act<T>(name, query, abort)
  })
}

/** Has the server do something. */
export function act<T>(name: string, body: object = {}, abort?: AbortSignal): Promise<Json<T>> {
  return send(hrefOf(`/api/${name}`), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-csrf-token': csrfToken.value },
    body: JSON.stringify(body),
    ...(abort ? { signal: abort } : {}),
  })
}

/** Why no answer on the page is sure to be true any more; empty: nothing is wrong. */
export const trouble = signal('')
/** Grows when a server or an engine answers again: the page asks everything again. */
export const recoveries = signal(0)

export type Answer<T> =
  | { readonly state: 'loading' }
  | { readonly state: 'failed'; readonly error: Refusal }
  | {
      readonly state: 'here'
      readonly value: Json<T>
      readonly askedAtMs: number
      /** True while another question is asked: the value answers the former one. */
      readonly isFormer: boolean
      /** The error of a later try: the value may not be true any more. */
      readonly error?: Refusal
    }

type AnswerOptions = {
  /** A text of the live state: when it changes, the question is asked again. Undefined: it is not known yet. */
  readonly follow?: string | undefined
}

/** A followed question is asked this often at most, and rests this many times as long as its last answer took. */
const FOLLOW_MIN_MS = 2000
const REST_PER_ANSWER = 4

/** Asks again whenever name or query change. `again` asks again; the former answer stays until the new one is here. */
export function useAnswer<T>(
  name: string,
  query: Readonly<Record<string, string>> = {},
  { follow }: AnswerOptions = {},
) {
  const answer: Signal<Answer<T>> = useSignal<Answer<T>>({ state: 'loading' })
  const asked = useSignal(0)
  const restUntilMs = useRef(0)
  const key = JSON.stringify([name, query])
  const answered = useRef(key)
  useEffect(() => {
    const stop = new AbortController()
    const askedAtMs = Date.now()
    const former = answer.peek()
    if (former.state === 'here' && answered.current !== key) answer.value = { ...former, isFormer: true }
    const settle = (next: Answer<T>) => {
      if (stop.signal.aborted) return
      answered.current = key
      restUntilMs.current = Date.now() + Math.max(FOLLOW_MIN_MS, (Date.now() - askedAtMs) * REST_PER_ANSWER)
      answer.value = next
    }
    ask<T>(name, query, stop.signal).then(
      (value) => settle({ state: 'here', value, askedAtMs, isFormer: false }),
      (thrown: unknown) => settle(afterError(answer.peek(), refusalOf(thrown))),
    )
    return () => stop.abort()
  }, [key, asked.value, visitChanges.value, recoveries.value])
  const again = () => void asked.value++
  useFollowing(follow, restUntilMs, again)
  return { answer: answer.value, again }
}

/** The last answer to the same question stays where the server or an engine is away; a refusal takes its place. */
const afterError = <T>(former: Answer<T>, error: Refusal): Answer<T> =>
  former.state === 'here' && !former.isFormer && (error.status === 0 || error.status >= 500)
    ? { ...former, error }
    : { state: 'failed', error }

/** Asks again when the followed text has changed, after the rest. */
function useFollowing(follow: string | undefined, restUntilMs: { current: number }, again: () => void): void {
  const followed = useRef(follow)
  useEffect(() => {
    // The first state may hold a change that came after the question was asked: it asks again too.
    if (follow === undefined || follow === followed.current) return
    const timer = setTimeout(
      () => {
        followed.current = follow
        again()
      },
      Math.max(0, restUntilMs.current - Date.now()),
    )
    return () => clearTimeout(timer)
  }, [follow])
}

export const refusalOf = (error: unknown): Refusal =>
  error instanceof Refusal ? error : new Refusal('This page has a fault.', { hint: String(error), status: 0 })

type PageSession = { readonly actor: Actor | null; readonly csrf?: string }

/** The session of a page, as its server sends it at `/api/session/read`. */
export function createPageSession<S extends PageSession>(before: S) {
  const session: Signal<S> = signal(before)
  const openSession = async (): Promise<void> => {
    const found = await readSession<S>().catch(() => undefined)
    if (!found) return
    const visit = found as Json<S> & S // a session holds texts, numbers and switches only
    session.value = visit
    isSignedOut.value = visit.actor === null
  }
  openAgain = openSession
  return {
    session,
    mayAct: computed(() => session.value.actor?.role === 'act'),
    openSession,
    signIn: async (name: string, password: string): Promise<void> => {
      await readSession<S>() // a session that has ended leaves its token
      const { csrf } = await act<{ csrf: string }>('sign-in', { name, password })
      localStorage.setItem(keptToken, csrf)
      await openSession()
    },
    signOut: async (): Promise<void> => {
      await act('sign-out')
      localStorage.removeItem(keptToken)
      await openSession()
    },
  }
}
