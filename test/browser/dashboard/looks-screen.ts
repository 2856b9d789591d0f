import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { soon } from '../../support/fixtures.ts'
import { findBarriers, lowWindow, overflowOf } from '../open-browser.ts'
import { test } from './dashboard-world.ts'

const [REQUESTS, WEIGHT_MAX] = [5, 50 * 1024]

test('the first load takes five requests and 50 kB', async ({ visit }) => {
  const page = await visit('/failures')
  await page.getByRole('table').first().waitFor()
  const paths: string[] = []
  page.on('request', (request) => void paths.push(new URL(request.url()).pathname))
  await page.reload()
  // At the third look at the state of the pipeline the page is at rest. The state is asked for as long as the page is seen, and a list
  // follows it: neither is a part of the load.
  const looks = () => paths.filter((path) => path === '/api/now').length
  await expect.poll(looks).toBe(3)
  const followers = new Set(['/api/now', '/api/failure-groups'])
  const loads = paths.filter((path) => !followers.has(path))

  expect([...loads, '/api/failure-groups']).toHaveLength(REQUESTS)
  const bytes = await page.evaluate(() =>
    [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
      .filter(({ name }) => !name.includes('/api/') && !name.startsWith('data:'))
      .map((entry) => (entry as PerformanceResourceTiming).encodedBodySize),
  )
  expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(WEIGHT_MAX)
})

test('the head of a phone leaves the screen to the page, and the switches stand at its end', async ({ visit }) => {
  for (const path of ['/', '/failures', '/people']) {
    const page = await visit(path, { viewport: { width: 360, height: 800 } })
    const heading = page.getByRole('heading', { level: 1 })
    await heading.waitFor()
    expect((await heading.boundingBox())?.y, path).toBeLessThan(110)
    await page.getByLabel('Mask names').scrollIntoViewIfNeeded()
    expect(await overflowOf(page)).toBe(0)
  }
})

/** How many colours the cells of the map have. A copy is read: the browser warns of a canvas that is read repeatedly. */
const coloursOfMap = (page: Page) =>
  page.evaluate(() => {
    const canvas = document.querySelector('canvas')
    if (!canvas) return 0
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d')
    copy?.drawImage(canvas, 0, 0)
    const pixels = copy?.getImageData(Math.floor(canvas.width / 2), 30, canvas.width / 3, 80).data ?? []
    const colours = new Set<string>()
    for (let at = 0; at < pixels.length; at += 4)
      if ((pixels[at + 3] ?? 0) === 255) colours.add([pixels[at], pixels[at + 1], pixels[at + 2]].join())
    return colours.size
  })

test('with forced colours the states of days keep theirs, on the map and on the strips', async ({ visit, world }) => {
  const page = await visit('/coverage?days=28', { forcedColors: 'active', colorScheme: 'dark' })
  await page.getByRole('button', { name: 'Refused 1' }).waitFor()
  await expect.poll(() => coloursOfMap(page)).toBeGreaterThan(2)
  const [, one] = world.sandbox.people()
  const [found] = await world.rows('select id from vitalsync.profiles where external_id = $1', [one?.externalId])
  await page.goto(`${world.url}/people/${found?.['id']}`)
  const cell = page.getByRole('button', { name: /: data$/ }).first()
  const colours = await cell.evaluate((element) => [
    getComputedStyle(element).backgroundColor,
    getComputedStyle(document.body).backgroundColor,
  ])
  expect(colours[0]).not.toBe(colours[1])
})

test('charts read a value under the pointer and by the arrow keys; scores cover one another nowhere', async ({
  visit,
  world,
}) => {
  const [, one] = world.sandbox.people()
  const [found] = await world.rows('select id from vitalsync.profiles where external_id = $1', [one?.externalId])
  const page = await visit(`/people/${found?.['id']}`)
  await page.getByRole('checkbox', { name: 'Health values' }).check()
  const scores = page.getByRole('region', { name: 'Scores', exact: true })
  const drawing = scores.getByRole('img')
  await drawing.focus()
  await page.keyboard.press('Home')
  const first = await scores.getByRole('status').textContent()
  expect(first).toMatch(/^\d{4}-\d{2}-\d{2}: wellbeing .+ · activity .+ · sleep .+ · readiness .+ · mental wellbeing /)
  await page.keyboard.press('ArrowRight')
  await expect.poll(() => scores.getByRole('status').textContent()).not.toBe(first)
  expect(await findBarriers(page)).toEqual([])

  const steps = page.getByRole('region', { name: 'Steps', exact: true })
  const box = await steps.getByRole('img').boundingBox()
  await steps.getByRole('img').hover({ position: { x: (box?.width ?? 0) - 4, y: 20 } })
  const newest = await steps.locator('.value').textContent()
  await steps.getByRole('img').hover({ position: { x: 60, y: 20 } })
  await expect.poll(() => steps.locator('.value').textContent()).not.toBe(newest)

  const drawings = page.getByRole('img', { name: /arrows read the values$/ })
  const names = await drawings.evaluateAll((all) => all.map((svg) => svg.getAttribute('aria-label') ?? ''))
  expect(names).toEqual(
    expect.arrayContaining([/^Scores/, /^\d+ nights/, /stages/i].map((name) => expect.stringMatching(name))),
  )
  for (const [index, name] of names.entries()) {
    const chart = drawings.nth(index)
    const value = chart.locator('xpath=../following-sibling::p[1]')
    await chart.focus()
    await page.keyboard.press('Home')
    const home = await value.textContent()
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => value.textContent(), { message: name }).not.toBe(home)
    const byKeys = await value.textContent()
    await chart.hover({ position: { x: 60, y: 4 } })
    await expect.poll(() => value.textContent(), { message: name }).toMatch(/^\d{4}-\d{2}-\d{2}: /)
    expect([home, byKeys]).toEqual(Array(2).fill(expect.stringMatching(/^\d{4}-\d{2}-\d{2}: /)))
  }

  const lanes = await drawing.evaluate((svg) =>
    [...svg.querySelectorAll('path')]
      .map((path) => path.getBBox())
      .filter(({ width }) => width > 0)
      .map(({ y, height }) => [y, y + height] as const),
  )
  expect(lanes.length).toBeGreaterThan(2)
  for (const [index, [, bottom]] of lanes.entries()) expect(bottom).toBeLessThanOrEqual(lanes[index + 1]?.[0] ?? bottom)
})

test('the line of runs reads a run under the pointer and by the arrow keys; the map reads a day', async ({
  visit,
  world,
}) => {
  const run = await world.pipeline.runs.create('backfill', {})
  await world.pipeline.runs.end(run.id, 'stopped')
  const page = await visit('/runs')
  const line = page.getByRole('navigation', { name: /^\d+ runs? of/ })
  const read = line.locator('.value')
  const bars = line.getByRole('link')
  await bars.first().focus()
  const first = await read.textContent()
  expect(first).toMatch(/^\w+ \d+, \w+, \d{4}-/)
  await page.keyboard.press('ArrowRight')
  await expect.poll(() => read.textContent()).not.toBe(first)
  await bars.first().hover()
  await expect.poll(() => read.textContent()).toBe(first)

  const coverage = await visit('/coverage?days=28')
  const map = coverage.getByLabel(/^Coverage map/)
  const told = coverage.locator('.told')
  await coverage.getByRole('button', { name: 'Refused 1' }).waitFor()
  await map.hover({ position: { x: 400, y: 30 } })
  await expect.poll(() => told.textContent()).toMatch(/\d{4}-\d{2}-\d{2}/)
  const pointed = await told.textContent()
  await map.focus()
  await coverage.keyboard.press('ArrowDown')
  await coverage.keyboard.press('ArrowRight')
  await expect.poll(() => told.textContent()).not.toBe(pointed)
  expect(await told.textContent()).toMatch(/\d{4}-\d{2}-\d{2}/)
})

test('times are UTC or those of the browser, by a switch that says the zone and stays', async ({ visit }) => {
  const page = await visit('/runs', { timezoneId: 'Asia/Kolkata' })
  const begun = page.getByRole('region', { name: 'Runs: the rows' }).locator('tbody tr').first().locator('td').nth(1)
  const utc = (await begun.textContent()) ?? ''
  await page.getByText('times are UTC').waitFor()
  await page.getByRole('combobox', { name: /^Times/ }).selectOption('local')
  await page.getByText(/times are Asia\/(Kolkata|Calcutta)/).waitFor()
  const local = (await begun.textContent()) ?? ''
  expect(Date.parse(`${local.replace(' ', 'T')}Z`) - Date.parse(`${utc.replace(' ', 'T')}Z`)).toBe(5.5 * 3_600_000)
  await page.reload()
  await page.getByText(/times are Asia/).waitFor()
})

test('the map marks the cell whose reason is shown, which comes into view; a marked area ends with its selection', async ({
  visit,
}) => {
  const page = await visit('/coverage?days=28', lowWindow)
  const map = page.getByLabel(/^Coverage map/)
  await page.getByRole('button', { name: 'Refused 1' }).waitFor()
  await map.click({ position: { x: 400, y: 30 } })
  const heading = page.getByRole('heading', { name: /^Why \d{4}/ })
  await heading.waitFor()
  const isInView = () => heading.evaluate((element) => element.getBoundingClientRect().bottom <= innerHeight)
  expect(await isInView()).toBe(true)
  await expect.poll(() => outlineOf(map)).toEqual({ isAround: true })
  await map.focus()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Shift+ArrowRight')
  await page.getByRole('heading', { name: 'Marked' }).waitFor()
  await page.getByRole('button', { name: '7 days' }).click()
  await page.getByRole('heading', { name: 'Marked' }).waitFor({ state: 'detached' })
})

/** Whether the outline on the map goes around the cell at 400, 30. */
const outlineOf = (map: Locator) =>
  map.evaluate((canvas: HTMLCanvasElement) => {
    const probe = document.createElement('i')
    probe.style.color = 'var(--focus)'
    document.body.append(probe)
    const colour = getComputedStyle(probe).color.match(/\d+/g)?.slice(0, 3).join()
    probe.remove()
    const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d') // as in coloursOfMap
    copy?.drawImage(canvas, 0, 0)
    const { data } = copy?.getImageData(0, 0, canvas.width, canvas.height) ?? { data: [] }
    const [xs, ys]: [number[], number[]] = [[], []]
    for (let at = 0; at < data.length; at += 4) {
      if ([data[at], data[at + 1], data[at + 2]].join() !== colour) continue
      xs.push((at / 4) % canvas.width)
      ys.push(Math.floor(at / 4 / canvas.width))
    }
    const isAround = Math.min(...xs) < 400 && Math.max(...xs) > 400 && Math.min(...ys) < 30 && Math.max(...ys) > 30
    return { isAround: isAround && Math.max(...xs) - Math.min(...xs) < 60 && Math.max(...ys) < 45 }
  })

test('after a start a page says that it counts, not that nothing is there', async ({ visit }) => {
  const page = await visit('/people')
  await page.route('**/api/now', async (route) => {
    const response = await route.fetch()
    const now = await response.json()
    await route.fulfill({ response, json: { ...now, counts: null, runs: null, nightly: null } })
  })
  await page.reload()
  await page.getByRole('link', { name: 'Now', exact: true }).click()
  await page.getByText('Counting …').nth(3).waitFor()
  for (const text of ['No run yet', 'It is empty.', 'Nothing waits.', 'Nothing is being retried.', 'none yet'])
    expect(await page.getByText(text).count(), text).toBe(0)
})

test('with forced colours each word differs from its ground', async ({ visit, world }) => {
  const [person] = world.sandbox.people()
  const page = await visit('/questions', { forcedColors: 'active' })
  const ask = page.getByRole('button', { name: 'Ask' })
  await ask.waitFor()
  expect(await findBarriers(page)).toEqual([])
  // Else the browser puts a bar of the page's colour behind the words of a coloured button.
  expect(await ask.evaluate((button) => getComputedStyle(button).forcedColorAdjust)).toBe('none')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Go to' }).fill(person?.externalId ?? '')
  await page.getByRole('option', { name: /active/ }).waitFor()
  expect(await findBarriers(page)).toEqual([])
})

test('on a phone the navigation shows the view that is open', async ({ visit }) => {
  const page = await visit('/audit', { viewport: { width: 360, height: 800 } })
  const link = page.getByRole('link', { name: 'Audit', exact: true })
  await link.waitFor()
  await page.getByRole('link', { name: /^Quarantine \d/ }).waitFor()
  const rightEdge = () => link.evaluate((element) => element.getBoundingClientRect().right)
  await expect.poll(rightEdge, soon).toBeLessThanOrEqual(360)
})

test('in a low window the navigation keeps its height, and what is beside the page scrolls', async ({ visit }) => {
  const page = await visit('/people', lowWindow)
  const views = page.getByRole('navigation', { name: 'Views' })
  await views.waitFor()
  expect(await views.evaluate((element) => element.scrollHeight - element.clientHeight)).toBe(0)
})

test('each state of a day can be seen on its ground, light and dark', async ({ visit }) => {
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await visit('/coverage?days=28', { colorScheme })
    await page.locator('.legend .swatch').first().waitFor()
    const contrasts = await page.evaluate(() => {
      const luminanceOf = (colour: string) => {
        const [red = 0, green = 0, blue = 0] = (colour.match(/\d+/g) ?? []).map((text) => (Number(text) / 255) ** 2.2)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue
      }
      /** One colour, or those of both halves. */
      const coloursOf = (element: Element) => {
        const { backgroundColor, backgroundImage } = getComputedStyle(element)
        const colours = backgroundImage.match(/rgb\(.*?\)/g) ?? [backgroundColor]
        return [...new Set(colours)]
      }
      return [...document.querySelectorAll('.legend .swatch:not(.day-none)')].map((swatch) => {
        const [ground = ''] = coloursOf(swatch.closest('.panel') ?? swatch)
        return coloursOf(swatch).map((colour) => {
          const [dark = 0, light = 0] = [luminanceOf(colour), luminanceOf(ground)].toSorted()
          return (light + 0.05) / (dark + 0.05)
        })
      })
    })
    expect(contrasts.map(({ length }) => length)).toEqual([1, 2, 2, 1, 1, 1, 1, 1, 1, 1, 1])
    expect(Math.min(...contrasts.flat()), colorScheme).toBeGreaterThan(1.4)
  }
})
