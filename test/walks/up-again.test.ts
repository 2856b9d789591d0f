import { readdir } from 'node:fs/promises'
import { expect } from 'vitest'
import { type ProgramEnd, processesNaming, startProgram } from '../support/run-program.ts'
import { isReady, nothingLeft, scoresIn, test, timeout } from './up-world.ts'

/**
 * Measured: 12 s of the clock on two idle cores; 18 s of processor time, on two busy ones. The clock says more about other
 * programs than about the start, so processor time is held: 15 s of the clock are 30 s of it at most.
 */
const firstStartTicksMax = 3000

const slowDatabase = /"code":"ETIMEDOUT","msg":"the database did not answer"|"status":503,"ms":[4-9]\d{3}\./
/** The log lines of a start, but for the 503s of a busy machine on which the database took four seconds: they are no fault of the start. */
const logged = (text: string) => text.split('\n').filter((line) => line.includes('"level"') && !slowDatabase.test(line))

test('a first start loads the sample people; a second finds everything still there, and Ctrl-C leaves no process and no lock', {
  timeout,
}, async ({ first: { ended: first, ticks, left, folder: firstFolder }, folder, startedBefore, up }) => {
  expect(first, first.stderr).toMatchObject({ code: 0, signal: null })
  expect(first.stdout).toMatch(/Synced 8 profiles/)
  expect(first.stdout).toMatch(/scores +[1-9]/)
  // Its addresses end with it: it says how to look all the same.
  expect(first.stdout).not.toMatch(/psql|curl|http:/)
  expect(first.stdout).toContain(`the data stays in ${firstFolder}`)
  expect(first.stdout).toContain('npx vitalsync sql')
  if (!process.env['FAKETIME']) expect(ticks).toBeLessThan(firstStartTicksMax)
  expect(logged(first.stderr)).toEqual([])
  expect(left).toEqual([])
  await nothingLeft(firstFolder)

  await startedBefore()
  const second = up([])
  await second.said(isReady)
  expect((await scoresIn(folder)).all.size).toBeGreaterThan(0)
  second.kill('SIGINT')
  const ended = await second.ended
  expect(ended).toMatchObject({ code: 0, signal: null })
  expect(ended.stdout.match(/scores +\S+/)?.[0]).toBe(first.stdout.match(/scores +\S+/)?.[0])
  expect(logged(ended.stderr)).toEqual([])
  await nothingLeft(folder)
})

test('a kill -9 while Postgres makes its data, and Ctrl-C in the start after it, leave nothing that a next start trips over', {
  timeout,
}, async ({ folder, up }) => {
  const killed = up()
  await killed.said(/starting Postgres/)
  await expect
    .poll(() => readdir(folder).catch(() => []), { timeout: 120_000, interval: 5 })
    .toContainEqual(expect.stringMatching(/^postgres\.new-\d+$/))
  killed.kill('SIGKILL')
  await killed.ended

  const interrupted = up()
  await interrupted.said(/Postgres is running/)
  interrupted.kill('SIGINT')
  expect(await interrupted.ended).toMatchObject({ code: 0, signal: null })
  await nothingLeft(folder)

  expect(await up().ended).toMatchObject({ code: 0 })
})

test('a kill -9 is forgotten by the next start, whether Postgres outlived it or not; SIGTERM leaves no process and no lock', {
  timeout,
}, async ({ folder, up, startedBefore }) => {
  await startedBefore()
  const alone = up([])
  await alone.said(isReady)
  const before = await scoresIn(folder)
  alone.kill('SIGKILL')
  await alone.ended
  expect(await processesNaming(folder)).not.toEqual([])

  const withAll = up([])
  await withAll.said(isReady)
  await expectKept(folder, before)
  for (const pid of [withAll.pid, ...(await processesNaming(folder))]) process.kill(pid, 'SIGKILL')
  await withAll.ended

  const last = up([])
  await last.said(isReady)
  await expectKept(folder, before)
  last.kill('SIGTERM')
  expect(await last.ended).toMatchObject({ code: 0, signal: null })
  expect(logged(last.stderr())).toEqual([])
  await nothingLeft(folder)
})

/** Nothing is lost, and the days that had ended have the same scores. */
async function expectKept(folder: string, before: Awaited<ReturnType<typeof scoresIn>>): Promise<void> {
  const { all, ended } = await scoresIn(folder)
  expect(ended).toEqual(before.ended)
  expect([...before.all].filter((key) => !all.has(key))).toEqual([])
}

test('no sample people come to a folder that has people of its own; those that it was given stay', { timeout }, async ({
  home,
  folder,
}) => {
  const run = (...words: string[]) => startProgram(words, { cwd: home, env: { VITALSYNC_DATA: folder } }).ended
  const sampleOf = ({ stderr }: ProgramEnd) => stderr.match(/(\d+) sample people/)?.[1]
  await run('profiles', 'add', 'p01')

  expect(sampleOf(await run('up', '--once'))).toBe('0')
  const { stdout: people } = await run('profiles', 'list', '--json')
  expect(people.match(/"externalId":"[^"]+"/g)).toEqual(['"externalId":"p01"'])
  expect(sampleOf(await run('up', '--once', '--profiles', '1', '--days', '4'))).toBe('1')
  expect(sampleOf(await run('up', '--once'))).toBe('1')
})
