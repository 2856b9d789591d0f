import { globSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readRunning } from '../../src/base/engines/running-file.ts'
import { DAY } from '../../src/base/time/units.ts'
import { makeOwnedDatabase, openCommandWorld } from '../app/commands/command-world.ts'
import { stepsByDay } from '../support/apple-day-steps.ts'
import { entriesOf } from '../support/health-files.ts'
import { needTerminal, runAtTerminal } from '../support/in-terminal.ts'
import { type Program, type ProgramEnd, startCommand } from '../support/run-program.ts'
import { blocksOf, type Desk, openDesk, root, sectionOf } from '../support/walk-page.ts'

/** Runs every command line and query of the README, and of the how-to pages that go on from it, for operators. */
const timeout = 300_000
const pages = [`${root}/README.md`, ...globSync(`${root}/docs/how-to/*.md`).toSorted()]
const texts = await Promise.all(pages.map((file) => readFile(file, 'utf8')))
const section = (title: string) => texts.map((text) => sectionOf(text, title)).find(Boolean) ?? ''
const commandsIn = (text: string) =>
  [...text.matchAll(/(?:`|^)(?:npm ci && )?((?:npx vitalsync|npm start)[^`\n#…]*)/gm)].map(([, line = '']) =>
    line.trim(),
  )
const isQuery = (line: string) => line.startsWith('npx vitalsync sql ')

const working = [...new Set(commandsIn(section('Work with it')))].filter((line) => /^npx vitalsync \S/.test(line))
const running = commandsIn(section('Run it for real'))
let desk: Desk
let home: string
let env: Record<string, string>
let up: Program
let someone: string
let leaving: string

beforeAll(async () => {
  desk = await openDesk()
  home = desk.folder
  await writeFile(join(home, 'people.csv'), 'externalId\nmary\n')
  // By itself half a minute passes until days are read again that upstream calls pending after a push.
  env = { ...desk.env, VITALSYNC_DATA: join(home, 'data'), REREAD_SECONDS: '1' }
  const [line = ''] = commandsIn(section('Try it'))
  // Fewer people than the default of eight: the walk is about the commands.
  up = startCommand(`exec ${line} -- --profiles 2`, { cwd: root, env })
  await up.said(/Working by schedule/)
  const { rows } = await ask('select distinct external_id from warehouse.scores order by 1')
  ;[someone = '', leaving = ''] = rows.map(({ external_id }) => String(external_id))
}, timeout)

afterAll(async () => {
  // At a terminal Ctrl-C reaches all processes; npm alone would not pass it on.
  const running = await readRunning(env['VITALSYNC_DATA'] ?? '')
  if (running) process.kill(running.pid, 'SIGINT')
  else up.kill('SIGKILL')
  await up.ended
  await desk.close()
}, timeout)

const run = (line: string, more: Record<string, string> = {}) =>
  startCommand(line, { cwd: root, env: { ...env, ...more } }).ended

async function ask(query: string) {
  const { databaseUrl } = (await readRunning(env['VITALSYNC_DATA'] ?? '')) ?? { databaseUrl: 'nothing runs here' }
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  return client.query(query).finally(() => client.end())
}

test('the README has commands for this test to run', () => {
  expect(commandsIn(texts[0] ?? '')).toContain('npm start')
  const tried = commandsIn(section('Try it'))
  expect(tried.filter((line) => !isQuery(line))).toEqual(['npm start', 'npm start -- --once'])
  expect(working.length).toBeGreaterThan(12)
  expect(running).toHaveLength(5)
  expect(tried.filter(isQuery)).toHaveLength(2)
})

test('npx itself finds the program in a checkout', { timeout }, async () => {
  const { code, stdout } = await run('npx vitalsync --help', { PATH: process.env['PATH'] ?? '' })

  expect([code, stdout]).toEqual([0, expect.stringContaining('Usage: vitalsync')])
})

test('its example of a start equals the output of a start, and its queries give rows', { timeout }, async () => {
  for (const line of commandsIn(section('Try it')).filter(isQuery))
    expect((await run(line)).stdout, line).toMatch(/^[1-9]\d* rows$/m)
  for (const words of [/✓ Postgres is running/, /✓ Scores are derived from their logs/]) {
    expect(section('Try it')).toMatch(words)
    expect(up.stderr()).toMatch(words)
  }
  for (const words of [
    /^Synced \d+ profiles in .*: [\d,]+ requests, [\d,]+ rows read, [\d,]+ written$/m,
    /^Profile Service: {2}http.*\/docs$/m,
  ]) {
    expect(section('Try it')).toMatch(words)
    expect(up.stdout()).toMatch(words)
  }
})

/** Replaces the names, the files and the days of the page. */
const filledIn = (line: string) => {
  const person = line.includes('profiles add') ? 'ada' : line.includes('erase') ? leaving : someone
  const lately = new Date(Date.now() - 2 * DAY).toISOString().slice(0, 10)
  return line
    .replace(/\bID\b|(?<=--profile )ada\b/, person)
    .replace(/\bFILE\b/, join(home, 'people.csv'))
    .replace(/(?<=--date )\d{4}-\d\d-\d\d/, lately)
}

for (const line of working) {
  test(`beside a running start: ${line}`, { timeout }, async ({ skip }) => {
    const command = filledIn(line)
    if (!command.includes('erase')) return expectWell(await run(command))
    needTerminal(skip)
    const typed = { seen: 'Type yes:', send: 'yes\r' }
    const { code, shown } = await runAtTerminal(['sh', '-c', command], { cwd: root, env, typed })
    expect([code, shown]).toEqual([0, expect.stringContaining('left here:  nothing')])
  })
}

function expectWell({ code, stdout, stderr }: ProgramEnd): void {
  expect([code, stderr]).toEqual([0, expect.not.stringMatching(/→|\n {4}at /)])
  expect(stdout.trim()).not.toBe('')
}

describe('bring your own data', () => {
  const lines = commandsIn(blocksOf(section('Bring your own data'))[0]?.text ?? '')
  const exported = (more: string) =>
    run(`npx vitalsync sandbox people --as apple-health --output ${home} ${more}`).then(expectWell)
  const withExport = (line = '') => line.replace('export.zip', join(home, 'export.zip'))

  test('start, import, wait, look: the four lines, one after the other', { timeout }, async () => {
    const [start, imported, synced = '', shown = ''] = lines
    await exported('--days 3')

    expect([start, lines.length]).toEqual(['npm start', 4])
    expectWell(await run(withExport(imported)))
    await expect
      .poll(async () => ((await run(synced)).code === 0 ? (await run(shown)).stdout : ''), { timeout, interval: 1000 })
      .toMatch(/activity|sleep/)
  })

  test('the steps of each day in the warehouse are those of the file, across a change of clocks', {
    timeout,
  }, async () => {
    const changeMs = lastChangeOfClocks(Date.now() - 4 * DAY)
    const dayText = (atMs: number) => new Date(atMs).toISOString().slice(0, 10)
    await exported(`--days 6 --until ${dayText(changeMs + 3 * DAY)}`)
    const zip = await readFile(join(home, 'export.zip'))
    const expected = stepsByDay(String(entriesOf(zip)[0]?.data), LONDON)
    expectWell(await run(`npx vitalsync profiles add clocks --from ${dayText(changeMs - 5 * DAY)}`))
    const imported = withExport(lines[1]).replace('--profile me --add-profiles', '--profile clocks')
    expectWell(await run(imported.replace(/Europe\/\w+/, LONDON)))
    const stored = async () => {
      await run('npx vitalsync sync --profile clocks --stream biomarkers')
      const { rows } = await ask(
        "select local_date::text as day, value::float as steps from warehouse.biomarkers_now where external_id = 'clocks' and type = 'steps' and periodicity = 'daily'",
      )
      return Object.fromEntries(rows.map(({ day, steps }) => [day, steps]))
    }

    expect(Object.keys(expected)).toContain(dayText(changeMs))
    await expect.poll(stored, { timeout, interval: 1000 }).toEqual(expected)
  })
})

const LONDON = 'Europe/London'

/** Noon of the last day before an instant on which clocks in London were changed. */
function lastChangeOfClocks(beforeMs: number): number {
  const hourAt = (atMs: number) =>
    new Intl.DateTimeFormat('en-GB', { timeZone: LONDON, hour: '2-digit', hourCycle: 'h23' }).format(atMs)
  let noonMs = Math.floor(beforeMs / DAY) * DAY + DAY / 2
  for (let days = 0; days < 366 && hourAt(noonMs) === hourAt(noonMs - DAY); days += 1) noonMs -= DAY
  return noonMs
}

test('run for real: each line, in its order, on engines of one’s own', { timeout }, async () => {
  const world = await openCommandWorld({ profiles: 1, days: 2 })
  const own = await makeOwnedDatabase()
  const run = async (line: string) => {
    const program = startCommand(`exec ${line}`, {
      cwd: root,
      env: { ...env, ...world.env, DATABASE_URL: own.url, LOG_LEVEL: 'info' },
    })
    const ready = { 'npx vitalsync schedule': /schedule is ready/, 'npx vitalsync worker': /worker is ready/ }[line]
    if (ready) {
      await program.said(ready)
      program.kill('SIGTERM')
    }
    return program.ended
  }
  try {
    const [doctor = '', ...others] = running
    expect(await run(doctor)).toMatchObject({ code: 1, stdout: expect.stringContaining('vitalsync migrate') })
    for (const line of others)
      expect(await run(line)).toMatchObject({ code: 0, stderr: expect.not.stringMatching(/→/) })
    // The tests' Postgres runs without fsync, and doctor says so; it must not report missing migrations.
    expect((await run(doctor)).stdout).toMatch(/✓ warehouse: all \d+ migrations are applied/)
  } finally {
    await own.drop()
    await world.close()
  }
})
