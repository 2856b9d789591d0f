import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { savedQuestions } from '../../../src/dashboard/routes/question-routes.ts'
import { findBarriers, overflowOf } from '../open-browser.ts'
import { openSession, send } from '../send.ts'
import { type DashboardWorld, test } from './dashboard-world.ts'
import { hostile } from './faulty-people.ts'

test('runs are listed; one of them lists its people, and can be resumed', async ({ visit, world }) => {
  const page = await visit('/runs')
  await page
    .getByRole('link', { name: /^sync \d+$/ })
    .first()
    .click()
  await page.getByText('People done').waitFor()
  expect(await findBarriers(page)).toEqual([])
  await page.getByRole('button', { name: 'Go on', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Go on', exact: true }).click()
  await dialog.getByText(/Run \d+ goes on with it/).waitFor()
  await world.idle()
})

test('a running run is stopped after a question', async ({ visit, world }) => {
  const run = await world.pipeline.runs.create('backfill', {})
  const page = await visit(`/runs/${run.id}`, { viewport: { width: 360, height: 800 }, colorScheme: 'dark' })
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  expect(await overflowOf(page)).toBe(0)
  await page.getByRole('dialog').getByText(`vitalsync runs stop ${run.id}`).waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Stop', exact: true }).click()
  await page.getByText('Stopped: jobs that have begun end').waitFor()
  expect((await world.pipeline.runs.get(run.id))?.state).toBe('stopped')
})

test('a question is answered as the reader role, once values are switched on; it may change nothing', async ({
  visit,
  world,
}) => {
  const page = await visit('/questions')
  await page.getByRole('button', { name: 'Ask', exact: true }).click()
  await page.getByText('Answers may hold health values.').waitFor()
  const switched = page.waitForResponse(/\/api\/session$/)
  await page.getByRole('checkbox', { name: 'Health values' }).check()
  await switched
  await page.getByRole('button', { name: /How complete is each stream/ }).click()
  await page.getByRole('columnheader', { name: 'share_settled' }).waitFor()
  expect(new URL(page.url()).search).toBe('?saved=how-complete-is-each-stream')
  await page.reload()
  await page.getByRole('columnheader', { name: 'share_settled' }).waitFor()
  expect(await findBarriers(page)).toEqual([])
  for (const [sql, refusal] of [
    ['delete from vitalsync.runs', /syntax error/],
    ['select * from vitalsync.tokens', /permission denied/],
  ] as const) {
    await page.getByRole('textbox', { name: 'SQL' }).fill(sql)
    await page.getByRole('button', { name: 'Ask', exact: true }).click()
    await page.getByRole('alert').getByText(refusal).waitFor()
  }
  expect(await world.rows(`select from warehouse.audit where action = 'ask question'`)).toHaveLength(4)
})

test('numbers by day are drawn beside the answer, and read under the pointer and by the arrow keys', async ({
  visit,
}) => {
  const page = await visit('/questions')
  await page.getByRole('checkbox', { name: 'Health values' }).check()
  const sql = `select date '2026-03-01' + n as day, n as figure from generate_series(0, 3) n`
  await page.getByRole('textbox', { name: 'SQL' }).fill(sql)
  await page.getByRole('button', { name: 'Ask', exact: true }).click()
  const chart = page.getByRole('img', { name: 'figure by day; arrows read the values' })
  const reads = (value: string) => page.locator('.chart .value').getByText(value, { exact: true }).waitFor()
  await chart.focus()
  await page.keyboard.press('Home')
  await reads('2026-03-01: 0')
  await page.keyboard.press('ArrowRight')
  await reads('2026-03-02: 1')
  const box = await chart.boundingBox()
  await chart.hover({ position: { x: (box?.width ?? 0) - 4, y: 20 } })
  await reads('2026-03-04: 3')
})

test('an answer is saved as CSV that no spreadsheet runs', async ({ visit }) => {
  const page = await visit('/questions')
  await page.getByRole('checkbox', { name: 'Health values' }).check()
  const sql = `select '=1+1' as formula, 'x;@y' as inner, -0.5::numeric as number, null as nothing`
  await page.getByRole('textbox', { name: 'SQL' }).fill(sql)
  await page.getByRole('button', { name: 'Ask', exact: true }).click()
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'CSV' }).click()
  expect(readFileSync(await (await saved).path(), 'utf8')).toBe(`formula,inner,number,nothing\r\n'=1+1,x;'@y,-0.5,\r\n`)
})

test('an answer of a million cells is shown in part, and keeps the page at work', async ({ visit }) => {
  const page = await visit('/questions')
  await page.getByRole('checkbox', { name: 'Health values' }).check()
  const sql = `select ${Array.from({ length: 1600 }, () => 1)} from generate_series(1, 1000)`
  await page.getByRole('textbox', { name: 'SQL' }).fill(sql)
  await page.getByRole('button', { name: 'Ask', exact: true }).click()
  await page.getByText('1,000 rows; 12 here, all in the CSV').waitFor()
  expect(await page.locator('main tbody tr').count()).toBe(12)
})

test('the saved questions are those of the documents', () => {
  const page = readFileSync('docs/how-to/questions.md', 'utf8')
  const told = [...page.matchAll(/^## (.+)\n\n```sql\n([\s\S]*?)\n```/gm)].map(([, title, sql]) => ({ title, sql }))
  expect(savedQuestions).toEqual(told)
})

test('a quarantined record is shown whole only with values on, never runs, and is replayed', async ({
  visit,
  world,
}) => {
  const page = await visit('/quarantine', { viewport: { width: 360, height: 800 } })
  await page.getByText(hostile.script).first().waitFor()
  expect(await overflowOf(page)).toBe(0)
  expect(await findBarriers(page)).toEqual([])
  await page.getByRole('link', { name: hostile.script }).click()
  await page.getByRole('link', { name: /^\d+$/ }).first().click()
  await page.getByText('The record holds health values.').waitFor()
  await page.getByRole('checkbox', { name: 'Health values' }).check()
  await page.getByText('"type": "sleep"').waitFor()
  const fitting = page.getByRole('region', { name: /^What would fit/ })
  await fitting.getByRole('row', { name: /^value number or null "<script>/ }).waitFor()
  expect(await overflowOf(page)).toBe(0)
  expect(await findBarriers(page)).toEqual([])
  await page.getByRole('button', { name: /^Replay this one/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Replay this one', exact: true }).click()
  await page.getByText(/^1 to be read again\. The next sweep does it/).waitFor()
  expect(await page.title()).toBe('Quarantine · vitalsync')
  expect(await world.rows('select from warehouse.quarantine')).toHaveLength(2)
})

test('a group of quarantined records is discarded after a look at how many they are', async ({ visit, world }) => {
  await world.rows(
    `insert into vitalsync.quarantine (profile_id, stream, direction, digest, path, reason, body, first_seen_at, last_seen_at)
     select min(id), 'scores', 'pull', sha256('gone'), 'value', 'nobody wants it', '{}', now(), now() from vitalsync.profiles`,
  )
  const page = await visit('/quarantine')
  await page.getByRole('button', { name: 'Discard group: nobody wants it' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('1 record will be forgotten').waitFor()
  await dialog.getByText(/^vitalsync quarantine discard --cause [0-9a-f]{32}$/).waitFor()
  await dialog.getByRole('button', { name: 'Discard group', exact: true }).click()
  await dialog.getByText('1 record discarded.').waitFor()

  expect(await world.rows(`select from warehouse.quarantine where reason = 'nobody wants it'`)).toEqual([])
  expect(await world.rows(`select from warehouse.audit where action = 'quarantine/discard'`)).toHaveLength(1)
})

/** Sends questions as a visitor who has switched health values on. */
async function openQuestions({ url }: DashboardWorld) {
  const session = await openSession(url)
  const shown = await send(`${url}/api/session`, { ...session, body: JSON.stringify({ values: true }) })
  const settings = shown.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  const visit = { ...session, cookie: `${session.cookie}; ${settings}` }
  return (sql: string) => send(`${url}/api/question`, { ...visit, body: JSON.stringify({ sql }) })
}

test('JSON of an answer stays a text: to read two million lists would occupy the dashboard for seconds', async ({
  world,
}) => {
  const ask = await openQuestions(world)
  const { body } = await ask(`select ('[' || repeat('[],', 2000000) || '[]]')::json`)

  expect(JSON.parse(body).rows[0][0].slice(0, 7)).toBe('[[],[],')
})

test('two questions are answered at once; others wait for their turn, and are refused when none comes', async ({
  world,
}) => {
  const ask = await openQuestions(world)
  const lock = await world.pipeline.pool.connect()
  try {
    await lock.query('begin')
    await lock.query('set local idle_in_transaction_session_timeout = 0')
    await lock.query('lock table vitalsync.tags')
    // Two are given up, two take their places, and for the fifth none is left.
    const answers = Array.from({ length: 5 }, () => ask('select count(*) from warehouse.tags'))
    await Promise.any(
      answers.map(async (answer) => expect((await answer).body).toContain('Other questions are being answered.')),
    )
    await lock.query('commit')
    const statuses = (await Promise.all(answers)).map(({ status }) => status)

    expect(statuses.toSorted()).toEqual([200, 200, 400, 400, 400])
  } finally {
    lock.release()
  }
})
