import { isDeepStrictEqual } from 'node:util'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { findBarriers, lowWindow, overflowOf } from '../open-browser.ts'
import { test } from './dashboard-world.ts'
import { addFailure, oddNames } from './faulty-people.ts'

const dayBefore = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)

test('from a missing sleep score to its reason it is three steps: search, person, day', async ({ visit, world }) => {
  const [, one] = world.sandbox.people()
  const name = one?.externalId ?? ''
  const day = dayBefore(3)
  await world.rows(
    `update vitalsync.scores set gone_at = now() where type = 'sleep' and local_date = $2
       and profile_id = (select id from vitalsync.profiles where external_id = $1)`,
    [name, day],
  )
  const page = await visit('/', lowWindow)
  await page.getByRole('button', { name: /^Go to/ }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Go to' }).fill(name)
  await page.getByRole('option', { name: new RegExp(name) }).waitFor()
  expect(await findBarriers(page)).toEqual([])

  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: new RegExp(`^scores \\w+ ${day}`) }).click()

  const reason = page.getByRole('listitem').filter({ hasText: 'No sleep score' })
  await reason.getByText('upstream has it: it is not read yet').waitFor()
  expect(await page.getByRole('heading', { name: /^Why \d{4}/ }).boundingBox()).toMatchObject({
    height: expect.any(Number),
  })
  await expect(page.getByRole('heading', { name: /^Why \d{4}/ }).evaluate(isInView)).resolves.toBe(true)
  expect(await findBarriers(page)).toEqual([])
  expect(new URL(page.url()).search).toBe(`?date=${day}&stream=scores`)
  const [look] = await world.rows(
    `select what from warehouse.audit where action = 'look at missing scores' and external_id = $1`,
    [name],
  )
  expect(look).toEqual({ what: { date: day } })
})

const isInView = (element: Element) => {
  const { top, bottom } = element.getBoundingClientRect()
  return top >= 0 && bottom <= innerHeight
}

test('the palette finds pages, people by name and our id, and runs by their number; Escape leaves it', async ({
  visit,
  world,
}) => {
  const [run] = await world.rows('select id::text from vitalsync.runs order by id limit 1')
  const [person] = await world.rows('select id::text from vitalsync.profiles order by id limit 1')
  const page = await visit('/failures')
  await page.getByRole('button', { name: /^Go to/ }).click()
  const input = page.getByRole('combobox', { name: 'Go to' })
  await input.fill('quar')
  await page.getByRole('option', { name: /^Quarantine/ }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/quarantine')
  await page.keyboard.press('Control+k')
  await input.fill(String(person?.['id']))
  await page.getByRole('option', { name: new RegExp(`person ${person?.['id']}`) }).waitFor()
  await input.fill(String(run?.['id']))
  await page.getByRole('option', { name: `Run ${run?.['id']}` }).click()
  expect(new URL(page.url()).pathname).toBe(`/runs/${run?.['id']}`)
  await page.keyboard.press('Control+k')
  await page.keyboard.press('Escape')
  await input.waitFor({ state: 'detached' })
})

test('the palette is open before the next key can come', async ({ visit }) => {
  const page = await visit('/failures')
  await page.getByRole('button', { name: /^Go to/ }).waitFor()
  const isOpen = await page.evaluate(async () => {
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'k', ctrlKey: true, bubbles: true }))
    const { promise, resolve } = Promise.withResolvers<unknown>()
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = resolve
    port2.postMessage('')
    await promise
    return document.querySelector('dialog')?.open
  })
  expect(isOpen).toBe(true)
})

test('Enter in the palette waits for the places of the typed text', async ({ visit }) => {
  const page = await visit('/failures')
  await page.getByRole('button', { name: /^Go to/ }).click()
  await page.getByRole('option', { name: /^Quarantine/ }).waitFor()
  const { promise: entered, resolve: enter } = Promise.withResolvers<void>()
  await page.route('**/api/people', async (route) => {
    await entered
    await route.continue()
  })
  await page.getByRole('combobox', { name: 'Go to' }).fill('quar')
  await page.keyboard.press('Enter')
  enter()
  await page.waitForURL('**/quarantine')
})

test('the navigation counts failures, quarantine and silent changes, and leads to them', async ({ visit, world }) => {
  const [person] = await world.rows('select id from vitalsync.profiles where external_id = $1', [oddNames.script])
  await world.rows(
    `insert into vitalsync.silent_differences (account, stream, profile_id, found_at, records, late_ms)
     values ('a', 'biomarkers', $1, now(), 3, 1000)`,
    [person?.['id']],
  )
  const page = await visit('/')
  const navigation = page.getByRole('navigation', { name: 'Views' })
  for (const name of [/^Failures\s*\d+$/, /^Quarantine\s*\d+$/]) await navigation.getByRole('link', { name }).waitFor()
  await navigation.getByRole('link', { name: /^Changed silently\s*1$/ }).click()
  await page.getByRole('button', { name: 'Changed silently 1', pressed: true }).waitFor()
  await page.getByText('1 person', { exact: false }).first().waitFor()
  expect(new URL(page.url()).search).toBe('?stream=biomarkers&only=silent')
  expect(await findBarriers(page)).toEqual([])
})

test('what is chosen on a page stands in its address, and the address alone shows the same', async ({ visit }) => {
  const mainOf = (page: Page) => page.getByRole('main')
  const choose = (page: Page, which: number, option: { index: number }) =>
    mainOf(page).getByRole('combobox').nth(which).selectOption(option)
  const openFirst = (page: Page) => mainOf(page).getByRole('link').first().click()
  const search = async (page: Page) => {
    await mainOf(page).getByRole('searchbox').fill('SampleProfile-o')
    await page.keyboard.press('Enter')
  }
  const choices: ReadonlyArray<readonly [path: string, choose: (page: Page) => Promise<unknown>]> = [
    ['/runs', (page) => choose(page, 0, { index: 1 })],
    ['/silence', (page) => choose(page, 0, { index: 1 })],
    ['/people', search],
    ['/coverage', (page) => choose(page, 0, { index: 1 })],
    ['/coverage', (page) => choose(page, 1, { index: 1 })],
    ['/coverage', search],
    ['/failures', openFirst],
    ['/quarantine', openFirst],
  ]
  for (const [path, act] of choices) {
    const page = await visit(path)
    await mainOf(page).getByRole('heading').first().waitFor()
    await act(page)
    await expect.poll(() => new URL(page.url()).search, { message: path }).not.toBe('')

    const { pathname, search: chosen } = new URL(page.url())
    const other = await visit(pathname + chosen)
    const shownOn = async (shown: Page) => [
      (await mainOf(shown).innerText()).replaceAll(/\d+ (s|min)\b/g, 'a while'),
      await mainOf(shown)
        .getByRole('combobox')
        .evaluateAll((selects) => selects.map((select) => (select as HTMLSelectElement).value)),
    ]

    const isSame = async () => isDeepStrictEqual(await shownOn(other), await shownOn(page))
    await expect.poll(isSame, { message: path }).toBe(true)
    await Promise.all([page.close(), other.close()]) // each open page goes on asking
  }
})

test('the audit says who looked and who acted, page by page, and is filtered by its address', async ({
  visit,
  world,
}) => {
  const [person] = await world.rows('select id::text from vitalsync.profiles where external_id = $1', [oddNames.script])
  await world.rows(
    `insert into vitalsync.audit (who, role, action, profile_id, what)
     select case n % 2 when 0 then 'ada' else 'eve' end, 'look', 'look at values', $1::int8, jsonb_build_object('n', n)
     from generate_series(1, 120) n`,
    [person?.['id']],
  )
  const page = await visit('/audit', { viewport: { width: 360, height: 800 } })
  await page.getByRole('combobox', { name: /^Who/ }).selectOption('ada')
  await page
    .getByRole('row', { name: /ada look look at values/ })
    .first()
    .waitFor()
  expect(await overflowOf(page)).toBe(0)
  expect(await findBarriers(page)).toEqual([])
  await page.getByRole('button', { name: 'Older' }).click()
  await expect.poll(() => page.getByRole('row').count()).toBe(11)
  await page.getByRole('row', { name: /"?n"? 2$/ }).waitFor()
  const other = await visit(`/audit?who=eve&action=look+at+values&profileId=${person?.['id']}`)
  await other.getByRole('link', { name: oddNames.script }).first().waitFor()
  expect(await other.getByText('ada', { exact: true }).count()).toBe(1)
  await world.rows(
    `insert into vitalsync.audit (who, role, action, profile_id, what) values ('eve', 'look', 'look at values', $1, '{"n": 999}')`,
    [person?.['id']],
  )
  await other.getByRole('row', { name: /"?n"? 999$/ }).waitFor()
})

test('some failures of a cause are chosen, and retried after a look at what is asked for', async ({ visit, world }) => {
  const added = await world.addProfiles('chosen-1', 'chosen-2', 'chosen-3')
  await world.rows(`update vitalsync.profiles set due_at = 'infinity' where id = any($1)`, [added])
  for (const profileId of added) await addFailure(world.rows, profileId)
  await world.rows(`update vitalsync.failures set reason = 'a cause of three' where profile_id = any($1)`, [added])
  const page = await visit('/failures')
  await page.getByRole('link', { name: 'a cause of three' }).click()
  const people = page.getByRole('region', { name: 'People: the rows' })
  for (const name of ['chosen-1', 'chosen-2'])
    await people
      .getByRole('row', { name: new RegExp(name) })
      .getByRole('checkbox')
      .check()
  expect(await findBarriers(page)).toEqual([])
  await page.getByRole('button', { name: 'Retry: 2 selected' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(/^2 failures will be due now: the next sweep or sync takes them/).waitFor()
  expect(await dialog.getByRole('listitem').allTextContents()).toEqual([
    expect.stringMatching(/^chosen-\d: sync-profile, all that is due$/),
    expect.stringMatching(/^chosen-\d: sync-profile, all that is due$/),
  ])
  await dialog.getByRole('button', { name: 'Retry', exact: true }).click()
  await dialog.getByText(/^2 due now, for the next sweep/).waitFor()
  expect(
    await world.rows(`select external_id from vitalsync.profiles where id = any($1) and due_at <= now() order by 1`, [
      added,
    ]),
  ).toEqual([{ external_id: 'chosen-1' }, { external_id: 'chosen-2' }])
})
