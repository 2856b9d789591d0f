import type { Locator } from 'playwright-core'
import { expect } from 'vitest'
import { findBarriers, overflowOf } from '../open-browser.ts'
import { test } from './dashboard-world.ts'

test('the worst come first; a cell says why, by keyboard too; a marked area is read again after its cost is shown', async ({
  visit,
  world,
}) => {
  const page = await visit('/coverage?days=28')
  const map = page.getByLabel(/^Coverage map/)
  await page.getByRole('button', { name: 'Refused 1' }).waitFor()
  await map.focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowLeft')
  await page
    .getByRole('status')
    .getByText(/: refused$|: quarantined$|: never read$/)
    .waitFor()
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: /^Why \d{4}/ }).waitFor()
  await page.getByText('vitalsync ').first().waitFor()

  await map.focus()
  await page.keyboard.press('Shift+ArrowDown')
  await page.keyboard.press('Shift+ArrowLeft')
  await page.getByText(/\d+ requests?, about/).waitFor()
  await page.getByRole('button', { name: 'Read it again', exact: true }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Read it again', exact: true }).click()
  await page.getByText(/Back-fill \d+ has begun/).waitFor()
  await page.getByRole('dialog').getByRole('link', { name: 'how it goes' }).waitFor()
  const [run] = await world.rows(`select kind, params from vitalsync.runs order by id desc limit 1`)
  expect(run).toMatchObject({ kind: 'backfill', params: { streams: ['scores'], again: true } })
  await world.idle()
})

test('the map fits 360 pixels, has no barriers, and answers a search for nobody', async ({ visit }) => {
  const page = await visit('/coverage?days=7', { viewport: { width: 360, height: 800 }, colorScheme: 'dark' })
  const map = page.getByLabel(/^Coverage map/)
  await page.getByRole('button', { name: 'Refused 1' }).waitFor()
  await map.hover({ position: { x: 200, y: 30 } })
  await page.getByText(/, \d{4}-\d{2}-\d{2}: /).waitFor()
  expect(await overflowOf(page)).toBe(0)
  expect(await findBarriers(page)).toEqual([])
  await page.getByRole('searchbox').fill('nobody is called so')
  await page.getByRole('searchbox').blur()
  await page.getByText('Nobody fits.').waitFor()
})

test('a search that is being typed outlives an answer that comes meanwhile', async ({ visit }) => {
  const page = await visit('/coverage?days=14')
  const { promise: typed, resolve: endTyping } = Promise.withResolvers<void>()
  await page.route('**/api/coverage', async (route) => {
    await typed
    await route.continue()
  })
  await page.getByRole('button', { name: '7 days' }).click()
  await page.getByRole('button', { name: 'Refused …' }).waitFor()
  await page.getByRole('searchbox').fill('nobody is called so')
  endTyping()
  await page.getByRole('button', { name: 'Refused 1' }).waitFor()
  await page.getByRole('searchbox').blur()
  await page.getByText('Nobody fits.').waitFor()
})

test('the streams show their trouble, the worst are in groups, and a year is a click from a day', async ({ visit }) => {
  const page = await visit('/coverage?stream=biomarkers')
  const row = page.getByRole('region', { name: /^Streams/ }).getByRole('row', { name: /^scores/ })
  await row.getByRole('cell', { name: '3', exact: true }).first().waitFor()
  await row.getByRole('button', { name: 'scores' }).click()
  await page.getByRole('button', { name: 'refused or quarantined 1' }).waitFor()
  await page.getByRole('button', { name: /^longest not read \d/ }).click()
  for (const zoom of ['year', 'day']) await page.getByRole('button', { name: zoom, exact: true }).click()
  await page.getByLabel('up to').fill('2026-01-31')
  await page.getByLabel('up to').press('Enter')
  await expect.poll(() => new URL(page.url()).search).toContain('days=1')
  await expect.poll(() => new URL(page.url()).search).toContain('lastDay=2026-01-31')
})

test('days of an address that are none give the usual map', async ({ visit }) => {
  for (const query of ['days=999999999', 'days=-1', 'days=x', 'lastDay=x', 'lastDay=2026-99-99&days=7.5']) {
    const page = await visit(`/coverage?${query}`)
    await page.getByRole('button', { name: 'Refused 1' }).waitFor()
  }
})

/** The colours that the map has in this column of the first row, from above, as `--day-` names. */
const coloursOfFirstRow = (map: Locator, names: readonly string[]) =>
  map.evaluate((canvas: HTMLCanvasElement, states) => {
    const probe = document.createElement('i')
    probe.className = 'probe'
    document.body.append(probe)
    const nameOf = new Map<string | undefined, string>()
    for (const state of states) {
      probe.style.color = `var(--day-${state})`
      nameOf.set(getComputedStyle(probe).color.match(/\d+/g)?.slice(0, 3).join(), state)
    }
    probe.remove()
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d') // the browser warns of a canvas that is read repeatedly
    copy?.drawImage(canvas, 0, 0)
    const { data = [] } = copy?.getImageData(canvas.width - 40, 20, 1, 18) ?? {}
    const colours: string[] = []
    for (let at = 0; at < data.length; at += 4) {
      const name = nameOf.get([data[at], data[at + 1], data[at + 2]].join()) ?? 'ground'
      if (colours.at(-1) !== name) colours.push(name)
    }
    return colours
  }, names)

test('a day with data and a record in quarantine shows both, on the map and on the strips of the person', async ({
  visit,
  world,
}) => {
  const [person] = world.sandbox.people()
  const name = person?.externalId ?? ''
  const [day] = await world.rows(
    `select d.local_date::text as date, p.id::text as id from warehouse.days d join vitalsync.profiles p using (external_id)
     where external_id = $1 and d.stream = 'scores' and d.state = 'data' order by local_date limit 1`,
    [name],
  )
  const { date, id } = day ?? {}
  await world.rows(
    `insert into vitalsync.quarantine (profile_id, stream, direction, digest, path, reason, body, local_date, first_seen_at, last_seen_at)
     values ($1, 'scores', 'pull', 'q', 'value', 'must be a number', '{}', $2, now(), now())`,
    [id, date],
  )
  for (const looks of [{}, { colorScheme: 'dark' }, { forcedColors: 'active' }] as const) {
    const page = await visit(`/coverage?days=1&lastDay=${date}&search=${name}`, looks)
    const map = page.getByLabel(/^Coverage map/)
    const colours = () => coloursOfFirstRow(map, ['data', 'quarantined'])
    await expect.poll(colours).toEqual(['ground', 'data', 'ground', 'quarantined', 'ground'])
    await map.hover({ position: { x: 600, y: 30 } })
    await page.getByText(`, ${date}: data, some quarantined`).waitFor()
    await map.focus()
    await page.keyboard.press('ArrowDown')
    await page.getByRole('status').getByText(`, ${date}: data, some quarantined`).waitFor()
    await page.goto(`${world.url}/people/${id}`)
    const cell = page.getByRole('button', { name: new RegExp(`^scores \\w+ ${date}: data, some quarantined$`) })
    expect(await cell.evaluate((element) => getComputedStyle(element).backgroundImage)).toMatch(/^linear-gradient/)
    await cell.click()
    await page.getByText('1 of its records did not fit: must be a number').waitFor()
  }
})

test('a day whose records upstream has no more is named so, on the map and in its legend', async ({ visit, world }) => {
  const [person] = world.sandbox.people()
  const name = person?.externalId ?? ''
  const [day] = await world.rows(
    `select local_date::text as date from warehouse.days where external_id = $1 and stream = 'scores' and state = 'data' order by 1 limit 1`,
    [name],
  )
  const date = String(day?.['date'])
  await world.rows(
    `update vitalsync.scores s set gone_at = now() from vitalsync.profiles p
     where p.id = s.profile_id and p.external_id = $1 and s.local_date = $2::date`,
    [name, date],
  )
  const page = await visit(`/coverage?days=1&lastDay=${date}&search=${name}`)
  const map = page.getByLabel(/^Coverage map/)

  await expect.poll(() => coloursOfFirstRow(map, ['erased_upstream'])).toContain('erased_upstream')
  await map.hover({ position: { x: 600, y: 30 } })
  await page.getByText(`, ${date}: erased upstream`).waitFor()
  await page.locator('.legend').getByText('erased upstream', { exact: true }).waitFor()
})
