import { DAY, HOUR, SECOND } from '../../../src/base/time/units.ts'
import { type App, changeElsewhere, type People, pushNew, startRun } from './app.ts'
import { createDraw } from './fault-plan.ts'
import type { HeldAnswers } from './held-answers.ts'
import { beforeName, comparedStreams } from './records.ts'
import type { SandboxControl } from './sandbox-control.ts'
import { until } from './until.ts'

const REACHED_WITHIN_MS = 20 * SECOND
/** The fleet gives an answer up that takes 20 seconds: what happens while it is held ends before. */
const DERIVED_WITHIN_MS = 5 * SECOND
const STORED_WITHIN_MS = 10 * SECOND

type HeldBack = { readonly held: HeldAnswers; readonly control: SandboxControl; readonly draw: number }

const windows = comparedStreams.find(({ name }) => name === 'biomarkers')

/**
 * Two readings of one window overlap: the answer of the first is held back until its records have changed upstream and a
 * second reading has stored the change. Whether the fleet then received the first answer.
 */
export async function overtakeReading(app: App, people: People, given: HeldBack): Promise<boolean> {
  const { profile, hold, draw } = pickPerson(app, people, given)
  const change = (hour: number) => changeDay(app, people, { ...given, profile, hour: hour + Math.floor(draw() * 4) })
  await change(8)
  const answer = hold()
  try {
    await readAgain(app, profile)
    if (!(await until(() => answer.sentAtMs() !== undefined, REACHED_WITHIN_MS))) return false
    await change(12)
    await readAgain(app, profile)
    const isOvertaken = await until(() => isStoredSince(app, profile, answer.sentAtMs() ?? 0), STORED_WITHIN_MS)
    return (await answer.release()) && isOvertaken
  } finally {
    await answer.release()
  }
}

/**
 * A push is marked as sent while the answer of a reading from before it is held back. The reading that follows the push is held
 * back until the first one was stored. Whether it was.
 */
export async function outdateReading(app: App, people: People, given: HeldBack): Promise<boolean> {
  const { profile, hold, draw } = pickPerson(app, people, given)
  if (!(await until(() => isDerived(given), REACHED_WITHIN_MS))) return false // its answer would cover nothing anyway
  const before = hold()
  try {
    await readAgain(app, profile)
    if (!(await until(() => before.sentAtMs() !== undefined, REACHED_WITHIN_MS))) return false
    const after = hold()
    try {
      await pushNew(app, people, profile, draw)
      await startRun(app, 'sync', { profileIds: [await idOf(app, profile)] })
      const sinceMs = before.sentAtMs() ?? 0
      const isTouched = await until(() => isSeen(app, profile, { sinceMs, sql: touchedSql }), STORED_WITHIN_MS)
      if (!isTouched || !(await before.release())) return false
      return await until(() => isSeen(app, profile, { sinceMs, sql: outdatedSql }), STORED_WITHIN_MS)
    } finally {
      await after.release()
    }
  } finally {
    await before.release()
  }
}

/** A person whose readings are not under way as a newcomer's are, and how to hold the next one back. */
function pickPerson(app: App, { living }: People, given: HeldBack) {
  const draw = createDraw(`${app.seed}/held reading ${given.draw} ${Date.now()}`)
  const names = [...living].filter((name) => !name.startsWith('Proof'))
  const profile = names[Math.floor(draw() * names.length)]
  if (profile === undefined || !windows) throw new Error('hold a reading back: nobody is left')
  const hold = () => {
    const answer = given.held.hold(beforeName(windows.operation.path) + profile)
    let sentAtMs: number | undefined
    answer.reached.then((at) => {
      sentAtMs = at
    })
    return { release: answer.release, sentAtMs: () => sentAtMs }
  }
  return { profile, hold, draw }
}

type Change = HeldBack & { readonly profile: string; readonly hour: number }

/** Another app uploads steps of an hour of yesterday, and upstream derives from them. */
async function changeDay(app: App, people: People, { profile, hour, ...given }: Change): Promise<void> {
  await changeElsewhere(app, people, profile, Math.floor(Date.now() / DAY - 1) * DAY + hour * HOUR)
  await until(() => isDerived(given), DERIVED_WITHIN_MS)
}

const isDerived = async ({ control }: Pick<HeldBack, 'control'>): Promise<boolean> =>
  (await control.control('POST', '/derived'))['derived'] === true

async function readAgain(app: App, profile: string): Promise<void> {
  const profileIds = [await idOf(app, profile)]
  await startRun(app, 'backfill', { from: app.historyFromMs, to: Date.now(), profileIds, again: true })
}

async function idOf(app: App, profile: string): Promise<string> {
  const profileId = (await app.pipeline.profiles.findId(profile))?.profileId
  if (profileId === undefined) throw new Error(`hold a reading back: ${profile} is erased`)
  return profileId
}

const isStoredSince = (app: App, profile: string, sinceMs: number) => isSeen(app, profile, { sinceMs, sql: storedSql })

const storedSql = `select from witness.seen where kind = 'record' and profile_id = $1
  and data ->> 'stream' = 'biomarkers' and (data ->> 'readAtMs')::float8 > $2`

const touchedSql = `select from witness.seen where kind = 'ledger' and profile_id = $1
  and data ->> 'stream' = 'biomarkers' and (data ->> 'touched')::boolean and extract(epoch from at) * 1000 > $2`

/** A reading became known after a push although it had been sent before. */
const outdatedSql = `select from witness.seen push join witness.seen later using (kind, profile_id)
  where kind = 'ledger' and profile_id = $1 and push.data ->> 'stream' = 'biomarkers' and later.data ->> 'stream' = 'biomarkers'
    and (push.data ->> 'touched')::boolean and extract(epoch from push.at) * 1000 > $2 and later.n > push.n
    and exists (select from jsonb_array_elements(later.data -> 'recent') recent
      where (recent ->> 2)::float8 < extract(epoch from push.at) * 1000
        and not push.data -> 'recent' @> jsonb_build_array(recent))`

type Asked = { readonly sinceMs: number; readonly sql: string }

/** Whether the witness has a row of the person since then. */
async function isSeen(app: App, profile: string, { sinceMs, sql }: Asked): Promise<boolean> {
  const { rowCount } = await app.pipeline.pool.query(`${sql} limit 1`, [await idOf(app, profile), sinceMs])
  return rowCount === 1
}
