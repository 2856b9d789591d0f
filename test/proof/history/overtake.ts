import { DAY, HOUR, SECOND } from '../../../src/base/time/units.ts'
import { type App, changeElsewhere, type People, startRun } from './app.ts'
import { createDraw } from './fault-plan.ts'
import type { HeldAnswers } from './held-answers.ts'
import { beforeName, comparedStreams } from './records.ts'
import type { SandboxControl } from './sandbox-control.ts'
import { until } from './until.ts'

/** The fleet gives an answer up that takes 20 seconds: what happens while it is held ends before. */
const REACHED_WITHIN_MS = 6 * SECOND
const DERIVED_WITHIN_MS = 5 * SECOND
const STORED_WITHIN_MS = 10 * SECOND

type Overtaking = { readonly held: HeldAnswers; readonly control: SandboxControl; readonly draw: number }

/**
 * Two readings of one window overlap: the answer of the first is held back until its records have changed upstream and a
 * second reading has stored the change. Whether the fleet then received the first answer.
 */
export async function overtakeReading(app: App, people: People, given: Overtaking): Promise<boolean> {
  const draw = createDraw(`${app.seed}/overtake ${given.draw} ${Date.now()}`)
  const names = [...people.living].filter((name) => !name.startsWith('Proof'))
  const profile = names[Math.floor(draw() * names.length)]
  const stream = comparedStreams.find(({ name }) => name === 'biomarkers')
  if (profile === undefined || !stream) return false
  const change = (hour: number) => changeDay(app, people, { ...given, profile, hour: hour + Math.floor(draw() * 4) })
  await change(8)
  const answer = given.held.hold(beforeName(stream.operation.path) + profile)
  let sentAtMs: number | undefined
  answer.reached.then((at) => {
    sentAtMs = at
  })
  try {
    await readAgain(app, profile)
    if (!(await until(() => sentAtMs !== undefined, REACHED_WITHIN_MS))) return false
    await change(12)
    await readAgain(app, profile)
    const isOvertaken = await until(() => isStoredSince(app, profile, sentAtMs ?? 0), STORED_WITHIN_MS)
    return (await answer.release()) && isOvertaken
  } finally {
    await answer.release()
  }
}

type Change = Overtaking & { readonly profile: string; readonly hour: number }

/** Another app uploads steps of an hour of yesterday, and upstream derives from them. */
async function changeDay(app: App, people: People, { control, profile, hour }: Change): Promise<void> {
  await changeElsewhere(app, people, profile, Math.floor(Date.now() / DAY - 1) * DAY + hour * HOUR)
  await until(async () => (await control.control('POST', '/derived'))['derived'] === true, DERIVED_WITHIN_MS)
}

async function readAgain(app: App, profile: string): Promise<void> {
  const profileId = (await app.pipeline.profiles.findId(profile))?.profileId
  if (profileId === undefined) throw new Error(`overtake a reading: ${profile} is erased`)
  await startRun(app, 'backfill', { from: app.historyFromMs, to: Date.now(), profileIds: [profileId], again: true })
}

async function isStoredSince({ pipeline: { pool, profiles } }: App, profile: string, sinceMs: number) {
  const { rowCount } = await pool.query(
    `select from witness.seen where kind = 'record' and profile_id = $1 and data ->> 'stream' = 'biomarkers'
       and (data ->> 'readAtMs')::float8 > $2 limit 1`,
    [(await profiles.findId(profile))?.profileId, sinceMs],
  )
  return rowCount === 1
}
