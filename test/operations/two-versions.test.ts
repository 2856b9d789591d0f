import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { soon } from '../support/fixtures.ts'
import { ownQueue } from '../support/own-redis.ts'
import { isReadOf } from '../support/peer.ts'
import { type Program, startProgram } from '../support/run-program.ts'
import { scoreOf } from '../support/sample-scores.ts'
import { queueKinds, test } from '../support/test-pipeline.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The made-up next version changes the form of a job, which this version cannot read, and the tables. */
const changes: ReadonlyArray<readonly [file: string, from: string, to: string]> = [
  ['src/pipeline/transfer/order.ts', 'JOB_FORM = 1', 'JOB_FORM = 2'],
  [
    'jobs/sync-profile.ts',
    'streams: z.array(z.string()).optional()',
    `streams: z.array(z.string()).or(z.object({ only: z.array(z.string()) }).transform(({ only }) => only)).optional()`,
  ],
  ['jobs/sync.ts', '? {} : { streams }', '? {} : { streams: { only: streams } }'],
]
const migration = `
  create table vitalsync.notes (profile_id bigint not null, note text not null, primary key (profile_id, note));
  insert into vitalsync.notes select id, 'of the next version' from vitalsync.profiles;
  alter table vitalsync.items add column note text`

/** The sources of the next version, in a folder of their own. */
async function makeNextVersion(): Promise<{ folder: string; entry: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-next-'))
  for (const part of ['src', 'jobs', 'config', 'package.json'])
    await cp(join(root, part), join(folder, part), { recursive: true })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  for (const [file, from, to] of changes) {
    const text = await readFile(join(folder, file), 'utf8')
    expect(text).toContain(from)
    await writeFile(join(folder, file), text.replace(from, to))
  }
  await writeFile(join(folder, 'src/pipeline/warehouse/migrations/9000-notes.sql'), migration)
  return { folder, entry: join(folder, 'src/vitalsync.mjs') }
}

const tag = { type: 'event', name: 'coffee', source: 'app', startDateTime: '2026-03-01T08:00:00Z' }
const names = Array.from({ length: 8 }, (_, index) => `person-${index}`)
const timeout = 600_000
const NEWER = /a newer version of vitalsync enqueued jobs of form 2/g

for (const engine of queueKinds) {
  test(`a version works with the next one, which changes a job's form, beside it, back and forward again (${engine})`, {
    timeout,
  }, async ({ open, peer, skip, onTestFinished }) => {
    const next = await makeNextVersion()
    onTestFinished(() => rm(next.folder, { recursive: true }))
    const line = await open('postgres')
    const queue = await ownQueue(engine, { skip, onTestFinished })
    const env = { ...line.settings, QUEUE_URL: line.settings['DATABASE_URL'] ?? '', ...queue, LOG_LEVEL: 'warn' }
    const start = (words: string[], version?: typeof next, more: Record<string, string> = {}): Program => {
      const program = startProgram(words, { cwd: '/tmp', env: { ...env, ...more }, ...version })
      onTestFinished(async () => {
        program.kill('SIGKILL')
        await program.ended
      })
      return program
    }
    const succeeds = async (program: Program) => expect(await program.ended).toMatchObject({ code: 0 })
    const scores = ['--stream', 'scores']
    const shown = { LOG_LEVEL: 'info' }
    const runs = () =>
      line.rows('select kind, form, state, enqueued::int, done::int, failed::int from vitalsync.runs order by id')
    const all = { kind: 'sync', enqueued: names.length, done: names.length, failed: 0, state: 'done' }
    await line.addProfiles(...names)
    for (const name of names) peer.give(name, 'scores', [scoreOf(9, 0.4)])

    // The next version migrates, orders everybody twice, and is killed while upstream keeps its jobs waiting.
    await succeeds(start(['migrate'], next))
    const [asked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { before } = peer
    peer.before = async (seen) => {
      if (isReadOf('scores')(seen)) {
        asked.resolve()
        await released.promise
      }
      return before(seen)
    }
    const killed = [start(['sync'], next, { CONCURRENCY: '1' })]
    await asked.promise
    killed.push(start(['sync', ...scores], next))
    const left = { ...all, form: 2, state: 'running', done: 0 }
    await expect.poll(() => line.rows('select 1 from vitalsync.runs where enqueued_all'), soon).toHaveLength(2)
    expect(await runs()).toEqual([left, left])
    for (const program of killed) program.kill('SIGKILL')
    await Promise.all(killed.map(({ ended }) => ended))
    released.resolve()

    // Back: this version serves everybody, whatever jobs wait. It does what both versions mean alike, and leaves the rest to the next one.
    const back = start(['sync'])
    await succeeds(back)
    await succeeds(start(['sync', ...scores]))
    expect(back.stderr().match(NEWER)).toHaveLength(1)
    const ours = { ...all, form: 1 }
    expect(await runs()).toEqual([{ ...all, form: 2 }, left, ours, ours])
    expect(await line.rows('select 1 from vitalsync.scores')).toHaveLength(names.length)
    expect(await line.rows('select 1 from vitalsync.failures')).toEqual([])
    await succeeds(start(['migrate']))

    // Forward again: the run that was left comes to its end. Then a worker of each version, and so does a run of either.
    await start(['worker'], next, shown).said(/worker is ready/)
    await expect.poll(async () => (await runs())[1], { timeout: 120_000 }).toEqual({ ...all, form: 2 })
    const mine = start(['worker'], undefined, shown)
    await mine.said(/worker is ready/)
    await Promise.all([succeeds(start(['sync', ...scores], next)), succeeds(start(['sync', ...scores]))])
    expect((await runs()).slice(4).map(({ form, ...run }) => run)).toEqual([all, all])
    expect(await line.rows('select 1 from vitalsync.failures')).toEqual([])
    expect(mine.stderr().match(NEWER)?.length ?? 0).toBeLessThan(2)

    // On the tables of the next version this one adds items, and erases a person from tables that it does not know.
    const items = join(next.folder, 'tags.ndjson')
    await writeFile(items, `${JSON.stringify({ externalId: 'person-1', ...tag })}\n`)
    await succeeds(start(['import', 'tags', items]))
    await succeeds(start(['profiles', 'erase', 'person-0', '--yes']))
    expect(await line.rows('select 1 from vitalsync.notes')).toHaveLength(names.length - 1)
  })
}
