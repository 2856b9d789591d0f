import { type ChildProcess, fork } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { applyMigrations } from '../../../src/base/engines/apply-migrations.ts'
import { startPostgres } from '../../../src/base/engines/embedded-postgres.ts'
import { allSituations, unseenIn } from '../../simulation/situations.ts'
import { openMemoryFolder } from '../../support/memory-folder.ts'
import type { ProofOptions, ProofPart, ProofResult } from '../part.ts'
import { describeFinding, STEPS, type StoryFinding } from './play-story.ts'
import type { PlayedStory } from './story-process.ts'

const STORIES_SHORT = 500
const STORIES_WHOLE = 2000
/** Two cores: while one process computes, the Postgres of the other works. */
const PROCESSES = 3
const FINDINGS_MAX = 3
const HOUR_MS = 3_600_000
/** A story under way is played to its end. */
const STOP_SIGNALS = ['SIGINT', 'SIGTERM'] as const

const migrations = new URL('../../../src/pipeline/warehouse/migrations/', import.meta.url)

/** The stories that were played. The whole form keeps this, and continues from it. */
type Progress = {
  readonly firstSeed: number
  /** Seeds up to this one are played. */
  lastSeed: number
  comparisons: number
  situations: Record<string, number>
  findings: StoryFinding[]
}

type Playing = {
  readonly progress: Progress
  /** The next seed to play; undefined when there is none. */
  readonly next: () => number | undefined
  readonly print: (line: string) => void
}

/** One process with a database of its own, until no seed is left. A process that ends unasked is a finding. */
function playInProcess(databaseUrl: string, { progress, next, print }: Playing): Promise<void> {
  const child: ChildProcess = fork(new URL('story-process.ts', import.meta.url), [databaseUrl])
  let seed: number | undefined
  const giveNext = () => {
    seed = progress.findings.length < FINDINGS_MAX ? next() : undefined
    if (seed === undefined) child.disconnect()
    else child.send(seed)
  }
  const take = (played: PlayedStory) => {
    progress.comparisons += played.comparisons
    for (const [name, times] of played.situations) progress.situations[name] = (progress.situations[name] ?? 0) + times
    if (played.finding) progress.findings.push(played.finding)
    if (played.finding) print(describeFinding(played.finding))
  }
  child.on('message', (message: PlayedStory | 'ready') => {
    if (message !== 'ready') take(message)
    giveNext()
  })
  return new Promise((resolve) => {
    child.once('exit', (code) => {
      if (code !== 0 && seed !== undefined)
        progress.findings.push({ seed, step: 0, violations: [`its process ended with ${code}`], story: [] })
      resolve()
    })
  })
}

/** A Postgres with one migrated database for each process. */
async function withDatabases<T>(count: number, use: (urls: string[]) => Promise<T>): Promise<T> {
  const memory = await openMemoryFolder()
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-stories-'))
  await chmod(folder, 0o755) // as root, the server runs as nobody and must be able to enter
  const postgres = await startPostgres({ folder, throwAway: true, connectionsMax: 20 + 10 * count })
  try {
    const admin = new pg.Client({ connectionString: postgres.adminUrl('postgres') })
    admin.on('error', () => undefined) // the query under way fails with the error
    await admin.connect()
    await admin.query('create database story')
    await applyMigrations({ databaseUrl: postgres.adminUrl('story'), folder: migrations, schema: 'vitalsync' })
    const names = Array.from({ length: count }, (_, index) => `story_${index + 1}`)
    for (const name of names) await admin.query(`create database ${name} template story`)
    await admin.end()
    return await use(names.map((name) => postgres.adminUrl(name)))
  } finally {
    await postgres.close()
    await rm(folder, { recursive: true, force: true })
    await memory?.close()
  }
}

async function readProgress(file: string, firstSeed: number): Promise<Progress> {
  const fresh: Progress = { firstSeed, lastSeed: firstSeed - 1, comparisons: 0, situations: {}, findings: [] }
  const kept: Progress | undefined = await readFile(file, 'utf8').then(JSON.parse, () => undefined)
  // A story that was found is played again: it may be mended.
  return kept?.firstSeed === firstSeed && kept.findings.length === 0 ? kept : fresh
}

async function run(options: ProofOptions): Promise<ProofResult> {
  const { short, hours, seed, stateFolder, print } = options
  const firstSeed = short ? 1 + 10_000 * seed : 1
  const count = short ? STORIES_SHORT : STORIES_WHOLE
  await mkdir(stateFolder, { recursive: true })
  const file = join(stateFolder, 'stories.json')
  const progress = short ? await readProgress('', firstSeed) : await readProgress(file, firstSeed)
  const startedAt = performance.now()
  const isWhole = () => progress.lastSeed - firstSeed + 1 >= count
  const isTimeOver = () => short || hours === undefined || performance.now() - startedAt > hours * HOUR_MS
  let isStopped = false
  const stop = () => {
    isStopped = true
  }
  for (const name of STOP_SIGNALS) process.once(name, stop)
  const isOver = () => isStopped || (isWhole() && isTimeOver())
  const next = () => {
    if (isOver()) return undefined
    progress.lastSeed += 1
    const played = progress.lastSeed - firstSeed
    if (played > 0 && played % 100 === 0) print(`${played} stories, ${progress.comparisons} comparisons`)
    if (played % 100 === 0 && !short) void writeFile(file, JSON.stringify(progress))
    return progress.lastSeed
  }
  await withDatabases(PROCESSES, (urls) =>
    Promise.all(urls.map((url) => playInProcess(url, { progress, next, print }))),
  )
  for (const name of STOP_SIGNALS) process.off(name, stop)
  if (!short) await writeFile(file, JSON.stringify(progress))
  if (!isWhole()) print('The stories were stopped: the same command plays the rest.')
  const result = resultOf(progress, (performance.now() - startedAt) / 1000, print)
  return { ...result, holds: result.holds && isWhole() }
}

function resultOf(progress: Progress, seconds: number, print: (line: string) => void): ProofResult {
  const { firstSeed, lastSeed, comparisons, situations, findings } = progress
  const unseen = unseenIn(new Map(Object.entries(situations)))
  for (const name of unseen) print(`never seen: ${name}`)
  return {
    holds: findings.length === 0 && unseen.length === 0,
    tables: [
      {
        title: 'Stories on the model and on the real warehouse',
        columns: ['figure', 'value'],
        rows: [
          ['seeds', `${firstSeed} to ${lastSeed}`],
          ['steps of each story', STEPS],
          ['comparisons of the whole state', comparisons],
          ['stories in which both differed', findings.length],
          ['seconds', Math.round(seconds)],
        ],
      },
      {
        title: 'Situations of these stories',
        columns: ['situation', 'times'],
        rows: allSituations.map((name) => [name, situations[name] ?? 0]),
      },
    ],
    survivors: [],
    notChecked: [
      'Two transactions at once on one ledger row: a story carries out one step at a time, but for readings of one commit.',
      'The lateness counts and the settle time that is measured from them: the bounds of the settings are one value here.',
      'Verification, quarantine replays, imports and discovery: no job of a story does them.',
      'A warehouse that is divided among several nodes.',
    ],
  }
}

export const part: ProofPart = {
  name: 'stories',
  checks:
    'Seeded stories of kills, lost connections, clocks and backups are played on the model and on the real writer, outbox, planner and runs over a Postgres; both must be alike after each step.',
  promises: [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16],
  minutes: { short: 3, whole: 12 },
  run,
}
