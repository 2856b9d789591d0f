import { computed, signal } from '@preact/signals'
import { shellQuoted } from '../../../base/text/readable.ts'
import { DAY, HOUR, MINUTE } from '../../../base/time/units.ts'
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
    const logs = madeUpDays(lastMidnightMs(serviceNowMs()), days, Math.random)
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

/** A log as an app uploads it. */
type MadeUpLog = {
  readonly id: string
  readonly logType: string
  readonly dataType: string
  readonly value: number
  readonly unit: string
  readonly source: string
  readonly recordingMethod: string
  readonly deviceType: string
  readonly startDateTime: string
  readonly endDateTime: string
}

const hoursOfSteps = [8, 9, 12, 13, 15, 17, 18, 20]

type Fact = Pick<MadeUpLog, 'logType' | 'dataType' | 'value' | 'unit'>

/** The midnight in UTC that began the last whole day. */
const lastMidnightMs = (nowMs: number): number => Math.floor(nowMs / DAY) * DAY - DAY

/**
 * Days as a watch writes them, with the night before each: stages of sleep, steps, heart rate. `random` is from 0 to 1.
 */
function madeUpDays(lastDayMs: number, days: number, random: () => number): MadeUpLog[] {
  return Array.from({ length: days }, (_, ago) => madeUpDay(lastDayMs - ago * DAY, random)).flat()
}

function madeUpDay(midnightMs: number, random: () => number): MadeUpLog[] {
  return [...night(midnightMs, random), ...steps(midnightMs, random), ...heart(midnightMs, random)]
}

function log(fact: Fact, startMs: number, endMs: number): MadeUpLog {
  const at = (ms: number) => new Date(ms).toISOString().replace('.000Z', 'Z')
  return {
    id: crypto.randomUUID(),
    ...fact,
    source: 'com.example.demo',
    recordingMethod: 'automatically_recorded',
    deviceType: 'watch',
    startDateTime: at(startMs),
    endDateTime: at(endMs),
  }
}

/** From about half past ten on the evening before, five rounds of light, deep and dreaming sleep. */
function night(midnightMs: number, random: () => number): MadeUpLog[] {
  let atMs = midnightMs - 90 * MINUTE + Math.round(random() * 40) * MINUTE
  const startMs = atMs
  const logs: MadeUpLog[] = []
  for (let round = 0; round < 5; round += 1) {
    for (const [stage, minutes] of [
      ['light', 40],
      ['deep', round < 3 ? 25 : 10],
      ['rem', 10 + round * 6],
      ['awake', round === 4 ? 0 : 2],
    ] as const) {
      const endMs = atMs + Math.round(minutes * (0.85 + random() * 0.3)) * MINUTE
      if (endMs > atMs) logs.push(log(stageOf(stage, (endMs - atMs) / MINUTE), atMs, endMs))
      atMs = endMs
    }
  }
  return [...logs, log(stageOf('in_bed', (atMs - startMs) / MINUTE), startMs, atMs)]
}

const stageOf = (stage: string, minutes: number): Fact => ({
  logType: 'sleep',
  dataType: `sleep_stage_${stage}`,
  value: minutes,
  unit: 'minute',
})

function steps(midnightMs: number, random: () => number): MadeUpLog[] {
  return hoursOfSteps.flatMap((hour) =>
    [0, 15].map((minute) => {
      const startMs = midnightMs + hour * HOUR + minute * MINUTE
      const value = Math.round(250 + random() * 900)
      return log({ logType: 'activity', dataType: 'steps', value, unit: 'count' }, startMs, startMs + 15 * MINUTE)
    }),
  )
}

function heart(midnightMs: number, random: () => number): MadeUpLog[] {
  return Array.from({ length: 48 }, (_, half) => {
    const startMs = midnightMs + half * 30 * MINUTE
    const isAsleep = half < 13
    const value = Math.round((isAsleep ? 54 : 68) + random() * (isAsleep ? 5 : 24))
    return log({ logType: 'heart', dataType: 'heart_rate', value, unit: 'bpm' }, startMs, startMs)
  })
}
