import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { soon } from '../support/fixtures.ts'
import { makeNextVersion } from '../support/next-version.ts'
import { ownQueue } from '../support/own-redis.ts'
import { isReadOf } from '../support/peer.ts'
import { type Program, startProgram } from '../support/run-program.ts'
import { scoreOf } from '../support/sample-scores.ts'
import { queueKinds, test } from '../support/test-pipeline.ts'

const tag = { type: 'event', name: 'coffee', source: 'app', startDateTime: '2026-03-01T08:00:00Z' }
const names = Array.from({ length: 8 }, (_, index) => `person-${index}`)
const timeout = 600_000
const NEWER = /a newer version of vitalsync enqueued jobs of form 2/g

for (const engine of queueKinds) {
  test(`a version works with the next one, which changes a job's form, beside it, back and forward again (${engine})`, {
    timeout,
  }, async ({ open, peer, skip, onTestFinished }) => {
    const next = await makeNextVersion()
    onTestFinished(next.close)
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
    peer.tags = true
    const give = (value: number) => {
      for (const name of names) peer.give(name, 'scores', [scoreOf(1, value)])
    }
    const values = async () => (await line.rows('select value from vitalsync.scores')).map(({ value }) => value)
    const allAre = (value: number) => names.map(() => value)
    give(0.4)

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
    expect(await values()).toEqual(allAre(0.4))
    expect(await line.rows('select 1 from vitalsync.failures')).toEqual([])
    await succeeds(start(['migrate']))

    // Forward again: the run that was left comes to its end. Then a worker of each version, and so does a run of either.
    give(0.6)
    const theirs = start(['worker'], next, shown)
    await theirs.said(/worker is ready/)
    await expect.poll(async () => (await runs())[1], { timeout: 120_000 }).toEqual({ ...all, form: 2 })
    const mine = start(['worker'], undefined, shown)
    await mine.said(/worker is ready/)
    await Promise.all([succeeds(start(['sync', ...scores], next)), succeeds(start(['sync', ...scores]))])
    expect((await runs()).slice(4).map(({ form, ...run }) => run)).toEqual([all, all])
    expect(await line.rows('select 1 from vitalsync.failures')).toEqual([])
    expect(mine.stderr().match(NEWER)?.length ?? 0).toBeLessThan(2)
    expect(await values()).toEqual(allAre(0.6))

    // Back: a tag from before the next version read is held no more, though upstream gives it again.
    theirs.kill('SIGTERM')
    await theirs.ended
    give(0.4)
    await succeeds(start(['sync', ...scores]))
    expect(await values()).toEqual(allAre(0.4))

    // On the tables of the next version this one adds items, and erases a person from tables that it does not know.
    const items = join(next.folder, 'tags.ndjson')
    await writeFile(items, `${JSON.stringify({ externalId: 'person-1', ...tag })}\n`)
    await succeeds(start(['import', 'tags', items]))
    await succeeds(start(['profiles', 'erase', 'person-0', '--yes']))
    expect(await line.rows('select 1 from vitalsync.notes')).toHaveLength(names.length - 1)
  })
}
