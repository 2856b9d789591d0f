import { createHash } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Config } from '../../../config/env.ts'
import { DAY, HOUR, MINUTE, SECOND } from '../../../src/base/time/units.ts'
import type { Pipeline } from '../../../src/operations/pipeline.ts'
import { produceRun } from '../../../src/operations/produce-run.ts'
import { startProgram } from '../../support/run-program.ts'
import { type ActName, createDraw, type PlannedAct } from './fault-plan.ts'
import type { History, ItemVersion } from './history.ts'
import { until } from './until.ts'

/** The app, its operators, and another app that writes to the same service. */
export type App = {
  readonly pipeline: Pipeline
  readonly config: Config
  /** The environment of commands. */
  readonly settings: Readonly<Record<string, string>>
  readonly history: History
  readonly seed: string
  readonly historyFromMs: number
  /** Uploads past the pipeline, with credentials of the account. */
  uploadElsewhere(profile: string, logs: readonly object[]): Promise<void>
}

/** The people that exist by the app's own records. */
export type People = {
  readonly living: Set<string>
  /** Our own ids of those who were there at first. */
  readonly ids: ReadonlyMap<string, string>
  readonly erasing: Map<string, { profileId: string; isAcknowledged: boolean }>
  /** Their data changed upstream without a push of ours: an operator reads their covered days again. */
  readonly revisedElsewhere: Set<string>
  /** The last version of each item that is not being handed in. */
  readonly items: Map<string, { profile: string; startMs: number; version: number }>
  /** Pushes of `pushWhile` that may be under way. */
  readonly pushing: Promise<void>[]
}

const SOURCE = 'history'
/** Enough that upstream derives something else from each version. */
const STEPS_PER_VERSION = 1500

/** The item and the version of a log, when the app has made it. */
export function versionOf(log: Readonly<Record<string, unknown>>): ItemVersion | undefined {
  if (log['source'] !== SOURCE) return undefined
  return { item: String(log['id']), version: Number(log['value']) / STEPS_PER_VERSION }
}

type Acting = {
  readonly acts: readonly PlannedAct[]
  /** Aborted when the faults are over: they may take longer than planned. */
  readonly signal: AbortSignal
}

/**
 * Acts at the planned times; an act that takes long does not hold up the next one. Then items are handed in and synced until
 * aborted, one sync after the other: a machine that is busy gets no backlog.
 */
export async function actAsPlanned(app: App, people: People, { acts: planned, signal }: Acting): Promise<void> {
  const underWay: Promise<unknown>[] = []
  const beganMs = performance.now()
  for (const [index, { atMs, act, draw }] of planned.entries()) {
    await wait(Math.max(0, beganMs + atMs - performance.now()))
    // A command that the faults break off is repeated by nobody: what it leaves must not matter.
    underWay.push(acts[act](app, people, createDraw(`${app.seed}/act ${index} ${draw}`)).catch(() => undefined))
  }
  const isIdle = async () => (await app.pipeline.queue.backlog('manual')).waiting === 0
  for (let round = 0; !signal.aborted; round += 1) {
    const draw = createDraw(`${app.seed}/further act ${round}`)
    for (const act of ['push', 'revise', 'sync'] as const) await acts[act](app, people, draw).catch(() => undefined)
    await until(() => signal.aborted || isIdle(), IDLE_WITHIN_MS)
  }
  await Promise.all(underWay)
}

/** A queue that another fault damages is not asked for longer. */
const IDLE_WITHIN_MS = 10 * SECOND

type Act = (app: App, people: People, draw: () => number) => Promise<unknown>

const acts: Record<ActName, Act> = {
  push: (app, people, draw) => pushNew(app, people, pickPerson(people, draw), draw),
  async revise(app, people, draw) {
    const [item, former] = pick([...people.items], draw) ?? []
    if (item && former) await handItem(app, people, { ...former, item, version: former.version + 1 })
  },
  sync: (app, _, draw) => commandRun(app, 'sync', {}, draw),
  async 'sync-some'(app, people, draw) {
    const profileIds = await idsOf(app, [pickPerson(people, draw), pickPerson(people, draw)])
    await commandRun(app, 'sync', { profileIds }, draw)
  },
  backfill: (app, _, draw) => commandRun(app, 'backfill', { from: Date.now() - 6 * DAY, to: Date.now() }, draw),
  nightly: (app, _, draw) => commandRun(app, 'nightly', {}, draw),
  erase: (app, people, draw) =>
    erase(app, people, pickPerson(people, draw), draw() < 0.5 ? draw() * SECOND * 4 : undefined),
  async revive(app, people, draw) {
    const name = pick([...people.erasing.keys()], draw)
    if (name !== undefined) await revive(app, people, name)
  },
  async 'revise-elsewhere'(app, people, draw) {
    const name = pickPerson(people, draw)
    await uploadElsewhere(app, people, newItem(app, name, draw))
  },
  async 'add-profile'(app, people, draw) {
    const name = `Proof-${app.seed}-${Math.floor(draw() * 1e6)}`
    await app.pipeline.profiles.add([name], { wantedFrom: new Date(app.historyFromMs), state: 'new' })
    people.living.add(name)
  },
}

const pick = <T>(from: readonly T[], draw: () => number): T | undefined => from[Math.floor(draw() * from.length)]
const pickPerson = ({ living }: People, draw: () => number): string => pick([...living], draw) ?? ''

async function idsOf({ pipeline }: App, names: readonly string[]): Promise<string[]> {
  const found = await Promise.all(names.map((name) => pipeline.profiles.findId(name)))
  return found.flatMap((one) => one?.profileId ?? [])
}

type Item = { readonly item: string; readonly profile: string; readonly startMs: number; readonly version: number }

const newItem = (app: App, profile: string, draw: () => number): Item =>
  itemAt(app, profile, { startMs: Date.now() - draw() * 60 * HOUR - HOUR, draw })

type ItemPlace = { readonly startMs: number; readonly draw: () => number }

/** An item of the hour in which the instant lies. */
function itemAt({ seed }: App, profile: string, { startMs: withinMs, draw }: ItemPlace): Item {
  const startMs = Math.floor(withinMs / HOUR) * HOUR
  const id = createHash('sha256').update(`${seed}/${profile}/${startMs}/${draw()}`).digest('hex')
  const item = `${id.slice(0, 8)}-${id.slice(8, 12)}-4${id.slice(13, 16)}-8${id.slice(17, 20)}-${id.slice(20, 32)}`
  return { item, profile, startMs, version: 1 }
}

/** By `modifiedDateTime` upstream keeps the newest form, in whatever order the forms arrive. */
const stepsLog = ({ item, startMs, version }: Item) => ({
  id: item,
  logType: 'activity',
  dataType: 'steps',
  value: version * STEPS_PER_VERSION,
  unit: 'count',
  source: SOURCE,
  recordingMethod: 'automatically_recorded',
  deviceType: 'phone',
  startDateTime: new Date(startMs).toISOString(),
  endDateTime: new Date(startMs + HOUR).toISOString(),
  modifiedDateTime: new Date(startMs + HOUR + version * SECOND).toISOString(),
})

/** One form of an item is handed in after the other: the app knows which one is its newest. */
async function handItem(app: App, people: People, form: Item): Promise<void> {
  people.items.delete(form.item)
  const [profileId] = await idsOf(app, [form.profile])
  if (profileId !== undefined) await handForm(app, people, form, profileId)
}

async function handForm({ pipeline, history }: App, people: People, form: Item, profileId: string): Promise<void> {
  const { item, profile, startMs, version } = form
  const span = { startAtMs: startMs, endAtMs: startMs + HOUR }
  const body = JSON.stringify(stepsLog(form))
  const outcome = await pipeline.outbox.add([{ profileId, stream: 'data-logs', itemKey: item, ...span, body }]).then(
    () => 'acknowledged' as const,
    () => 'unknown' as const,
  )
  history.add({ kind: 'handed', item, profile, version, outcome })
  people.items.set(item, { profile, startMs, version })
}

/** The app hands a new item of the person to the outbox. */
export const pushNew = (app: App, people: People, profile: string, draw: () => number): Promise<void> =>
  handItem(app, people, newItem(app, profile, draw))

const PUSH_EVERY_MS = 250

/** The app hands new items of a person in while the database is damaged. */
export function pushWhile<T>(app: App, people: People, damage: () => Promise<T>): Promise<T> {
  const draw = createDraw(`${app.seed}/pushes ${Date.now()}`)
  const [profile, profileId] =
    pick(
      [...people.ids].filter(([name]) => people.living.has(name)),
      draw,
    ) ?? []
  let isOver = false
  const damaging = damage().finally(() => {
    isOver = true
  })
  const push = async () => {
    for (; !isOver && profile !== undefined && profileId !== undefined; await wait(PUSH_EVERY_MS))
      await handForm(app, people, newItem(app, profile, draw), profileId)
  }
  people.pushing.push(push())
  return damaging
}

type RunParameters = Record<string, unknown>

/** The command that creates a run also enqueues it; sometimes it dies in between. */
const commandRun = (app: App, kind: string, params: RunParameters, draw: () => number): Promise<void> =>
  startRun(app, kind, params, draw() < 0.3 ? 1 : MINUTE)

/** Creates a run and enqueues it to its end, within the time. */
export async function startRun(
  { pipeline, config }: App,
  kind: string,
  params: RunParameters,
  withinMs = MINUTE,
): Promise<void> {
  const run = await pipeline.runs.create(kind, params)
  await produceRun({ pipeline, config, signal: AbortSignal.timeout(withinMs) }, run, { untilAll: true })
}

/** Another app uploads the steps of this hour. */
export const changeElsewhere = (app: App, people: People, profile: string, startMs: number): Promise<void> =>
  uploadElsewhere(app, people, itemAt(app, profile, { startMs, draw: createDraw(`${profile} ${Date.now()}`) }))

async function uploadElsewhere(app: App, people: People, item: Item): Promise<void> {
  people.revisedElsewhere.add(item.profile)
  await app.uploadElsewhere(item.profile, [{ ...stepsLog(item), source: 'elsewhere' }])
}

/** An operator whose command waits longer stops it, and erases again later. */
const PATIENCE_MS = 30 * SECOND

/** Erases by the command, which is killed after a while. */
export async function erase(app: App, people: People, profile: string, killAfterMs = PATIENCE_MS): Promise<void> {
  const profileId = people.erasing.get(profile)?.profileId ?? (await idsOf(app, [profile]))[0]
  if (profileId === undefined) return
  people.living.delete(profile)
  people.erasing.set(profile, { profileId, isAcknowledged: false })
  const command = startProgram(['profiles', 'erase', profile, '--yes'], { cwd: '/', env: app.settings })
  const killer = setTimeout(() => command.kill('SIGKILL'), killAfterMs)
  const { code } = await command.ended
  clearTimeout(killer)
  const isGone = code !== 0 && (await isErased(app, profile))
  const outcome = code === 0 || isGone ? 'acknowledged' : 'unknown'
  people.erasing.set(profile, { profileId, isAcknowledged: outcome === 'acknowledged' })
  app.history.add({ kind: 'erasure', profile, profileId, outcome, atMs: Date.now() })
}

/** A command that died after its commit has erased all the same: the next one finds nobody of that name. */
const isErased = async ({ pipeline }: App, profile: string): Promise<boolean> =>
  (await pipeline.profiles.findId(profile)) === undefined &&
  (await pipeline.profiles.erasedAmong([profile])).has(profile)

/** An import names an erased person again, and an app that knows the former id hands in an item. */
export async function revive(app: App, people: People, profile: string): Promise<void> {
  const gone = people.erasing.get(profile)
  if (!gone?.isAcknowledged) return
  const { profileId } = gone
  const wantedFrom = new Date(app.historyFromMs)
  const { added } = await app.pipeline.profiles.add([profile], { wantedFrom, state: 'active' })
  app.history.add({ kind: 'revival', profile, added: added > 0 })
  const form = newItem(app, profile, createDraw(profile))
  const { item, startMs } = form
  const body = JSON.stringify(stepsLog(form))
  const span = { startAtMs: startMs, endAtMs: startMs + HOUR }
  await app.pipeline.outbox.add([{ profileId, stream: 'data-logs', itemKey: item, ...span, body }])
}
