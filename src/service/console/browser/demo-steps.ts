import { computed, signal } from '@preact/signals'
import { shellQuoted } from '../../../base/text/readable.ts'
import { DAY } from '../../../base/time/units.ts'
import { logsOf } from '../../sandbox/people/sample-people.ts'
import { createSamplePerson } from '../../sandbox/people/sample-person.ts'
import { accountTokenOf, chosenAppKey } from './callers.ts'
import { consoleSession, serviceNowMs, serviceUrl } from './console-state.ts'

/** A request of the demo app, as a developer would watch it. */
type DemoRequest = {
  readonly about: string
  readonly method: string
  readonly path: string
  readonly status: number
  readonly tookMs: number
  readonly curl: string
}

export type DemoScore = {
  readonly type: string
  readonly value: number
  readonly state: string
  readonly scoreDateTime: string
  readonly factors: ReadonlyArray<{
    readonly name: string
    readonly score: number
    readonly value: number
    readonly goal: number
    readonly unit: string
  }>
}

type Demo = {
  readonly step: 'welcome' | 'registered' | 'deriving' | 'scores'
  readonly name: string
  /** Held as an app holds it: in memory here, in the safe of a phone there. */
  readonly profileToken: string
  readonly daysSent: number
  readonly scores: readonly DemoScore[]
  readonly fault: string
}

const before: Demo = { step: 'welcome', name: '', profileToken: '', daysSent: 0, scores: [], fault: '' }

export const demo = signal<Demo>(before)
export const demoRequests = signal<readonly DemoRequest[]>([])
export const isDemoBusy = signal(false)
export const mayRegister = computed(() => chosenAppKey().secret !== '')

const REQUESTS_SHOWN = 60
const POLL_MS = 1000
const POLLS_MAX = 90
const LOGS_PER_UPLOAD = 500
const DAYS_ASKED = 16

export function startAgain(): void {
  demo.value = before
  demoRequests.value = []
}

type Sent = { about: string; method: string; path: string; headers: Readonly<Record<string, string>>; body?: unknown }

async function send({ about, method, path, headers, body }: Sent) {
  const startedAtMs = performance.now()
  const json = body === undefined ? {} : { body: JSON.stringify(body) }
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  const response = await fetch(path, { method, headers: { ...headers, ...type }, ...json }).catch(() => undefined)
  const tookMs = performance.now() - startedAtMs
  const status = response?.status ?? 0
  const sent = { about, method, path, status, tookMs, curl: curlOfDemo({ about, method, path, headers, body }) }
  demoRequests.value = [sent, ...demoRequests.value].slice(0, REQUESTS_SHOWN)
  if (!response?.ok) throw new Error(`${about}: ${status === 0 ? 'no answer came' : `the service answered ${status}`}.`)
  const text = await response.text()
  return { value: text === '' ? undefined : JSON.parse(text), headers: response.headers }
}

/** Without its secrets. */
function curlOfDemo({ method, path, headers, body }: Sent): string {
  const named = Object.keys(headers).map((name) =>
    name === 'authorization'
      ? `-H "Authorization: ${headers[name]?.startsWith('account ') ? 'account $ACCOUNT_TOKEN' : 'profile $PROFILE_TOKEN'}"`
      : name === 'AppId'
        ? '-H "AppId: $APP_ID"'
        : '-H "AppSecret: $APP_SECRET"',
  )
  const json = body === undefined ? [] : [`-H 'content-type: application/json' -d ${shellQuoted(JSON.stringify(body))}`]
  return [`curl -X ${method} '${serviceUrl}${path}'`, ...named, ...json].join(' ')
}

/** Runs a step of the app; a fault is shown on the phone, and the step can be tried again. */
async function run(step: () => Promise<void>): Promise<void> {
  isDemoBusy.value = true
  demo.value = { ...demo.value, fault: '' }
  try {
    await step()
  } catch (thrown) {
    demo.value = { ...demo.value, fault: thrown instanceof Error ? thrown.message : String(thrown) }
  } finally {
    isDemoBusy.value = false
  }
}

export const registerDemo = (name: string) =>
  run(async () => {
    const { id, secret } = chosenAppKey()
    const { value } = await send({
      about: 'Register with the app key',
      method: 'POST',
      path: '/api/v1/oauth/profile/register/appId',
      headers: { AppId: id, AppSecret: secret },
      body: { externalId: name },
    })
    demo.value = { ...demo.value, step: 'registered', name, profileToken: value.profileToken }
  })

/** A person who is known already, as a sample person: the app's server asks for the token with its account. */
export const signInDemo = (name: string) =>
  run(async () => {
    const accountToken = await accountTokenOf(consoleSession.value.credentials?.clientId ?? '')
    const { value } = await send({
      about: 'Ask for a token, as the server of the app',
      method: 'POST',
      path: '/api/v1/oauth/profile/token',
      headers: { authorization: `account ${accountToken}` },
      body: { externalId: name },
    })
    demo.value = { ...demo.value, step: 'deriving', name, profileToken: value.profileToken }
    await followScores()
  })

const asPerson = () => ({ authorization: `profile ${demo.value.profileToken}` })

/** Uploads the last days, and the age and sex by which scores are compared with those of others. */
export const sendDays = (days: number) =>
  run(async () => {
    const logs = madeUpDays(days)
    await send({
      about: 'Tell age and sex',
      method: 'PATCH',
      path: '/api/v1/profile/demographic',
      headers: asPerson(),
      body: { age: 34, gender: 'Female' },
    })
    for (let first = 0; first < logs.length; first += LOGS_PER_UPLOAD) {
      const body = logs.slice(first, first + LOGS_PER_UPLOAD)
      const about = `Upload ${body.length} logs`
      await send({ about, method: 'POST', path: '/api/v1/profile/data/log', headers: asPerson(), body })
    }
    demo.value = { ...demo.value, step: 'deriving', daysSent: days }
    await followScores()
  })

/** Asks until the service says that everything it has was derived; the scores so far are shown meanwhile. */
async function followScores(): Promise<void> {
  const from = new Date(serviceNowMs() - DAYS_ASKED * DAY).toISOString().slice(0, 10)
  const path = `/api/v1/profile/score?startDateTime=${from}T00:00:00Z`
  for (let poll = 0; poll < POLLS_MAX && demo.value.profileToken !== ''; poll += 1) {
    const { value = [], headers } = await send({ about: 'Ask for scores', method: 'GET', path, headers: asPerson() })
    demo.value = { ...demo.value, scores: value }
    if (headers.get('derivation-state') === 'finished') {
      demo.value = { ...demo.value, step: 'scores' }
      return
    }
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  throw new Error('The scores are not there yet: the service derives something else.')
}

/**
 * The last whole days in UTC, with the night before each, as the watch of a made-up person writes them: another person each
 * time.
 */
function madeUpDays(days: number) {
  const person = { ...createSamplePerson(crypto.randomUUID(), 0), homeZone: 'Etc/UTC', detail: 'light' as const }
  const endMs = Math.floor(serviceNowMs() / DAY) * DAY
  return logsOf(person, { startMs: endMs - days * DAY, endMs })
}
