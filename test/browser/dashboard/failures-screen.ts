import { readFile } from 'node:fs/promises'
import { expect } from 'vitest'
import { createFailures } from '../../../src/pipeline/warehouse/runs/stored-failures.ts'
import { findBarriers, overflowOf } from '../open-browser.ts'
import { test } from './dashboard-world.ts'
import { hostile, oddNames } from './faulty-people.ts'

/** The help of the command, which the reference repeats. */
async function helpFor(verb: 'retry' | 'discard'): Promise<string> {
  const reference = await readFile(new URL('../../../docs/reference/cli.md', import.meta.url), 'utf8')
  const said = new RegExp(
    `### vitalsync failures ${verb} .*\\n(?:.*\\n)*?(?:make failures|forget failures;) (.+)\\.\\n`,
  )
  return said.exec(reference)?.[1] ?? `no help for ${verb}`
}

test('failures are grouped by cause; a group is retried, and discarded after a question', async ({ visit, world }) => {
  const page = await visit('/failures')
  const row = page.getByRole('row', { name: /upstream answers 503/ })
  const [shown] = await createFailures(world.pipeline).list({ reason: 'upstream answers 503' }, 1)
  await row.getByText(shown?.hint ?? 'no advice').waitFor()
  await row.getByRole('button', { name: /^Retry/ }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(/^vitalsync failures retry --cause [0-9a-f]{32}$/).waitFor()
  await dialog.getByText(await helpFor('retry')).waitFor()
  await dialog.getByRole('button', { name: 'Retry', exact: true }).click()
  await dialog.getByText('1 due now, for the next sweep; at once: vitalsync sync.').waitFor()
  await dialog.getByRole('button', { name: 'Close' }).click()

  await row.getByRole('button', { name: /^Discard/ }).click()
  expect(
    await world.rows(`select count(*)::int as n from vitalsync.failures where reason = 'upstream answers 503'`),
  ).toEqual([{ n: 1 }])
  await dialog.getByText(await helpFor('discard')).waitFor()
  await dialog.getByRole('button', { name: 'Discard', exact: true }).click()
  await dialog.getByText('1 failure discarded').waitFor()
  await dialog.getByRole('button', { name: 'Close' }).click()
  await row.waitFor({ state: 'detached' })
  expect(
    await world.rows("select who, role, action from warehouse.audit where action like 'failures%' order by at"),
  ).toEqual([
    { who: 'local', role: 'act', action: 'failures/retry' },
    { who: 'local', role: 'act', action: 'failures/discard' },
  ])
})

test('before a failed back-fill is retried, the page says which range and streams it asks for', async ({
  visit,
  world,
}) => {
  const [all, some] = await world.addProfiles('all-streams', 'some-streams')
  const range = ['["from",1767225600000]', '["to",1769904000000]']
  const scopes = [`[${range}]`, `[["again",true],${range[0]},["streams",["scores","tags"]],${range[1]}]`]
  await world.rows(
    `insert into vitalsync.failures (profile_id, job, reason, scope, attempts, first_at, last_at)
     select p, 'backfill-profile', 'a lost range', s, 6, now(), now() from unnest($1::int8[], $2::text[]) i(p, s)`,
    [[all, some], scopes],
  )
  const page = await visit('/failures')
  await page
    .getByRole('row', { name: /a lost range/ })
    .getByRole('button', { name: /^Retry/ })
    .click()
  const items = page.getByRole('dialog').getByRole('listitem')
  await items.nth(1).waitFor()
  expect((await items.allTextContents()).toSorted()).toEqual([
    'all-streams: backfill-profile, 2026-01-01 00:00 to 2026-02-01 00:00, what is not covered of every stream',
    'some-streams: backfill-profile, 2026-01-01 00:00 to 2026-02-01 00:00, again all of scores, tags',
  ])
})

test('texts that upstream chose are shown, never run, and break no layout', async ({ visit }) => {
  const page = await visit('/failures', { viewport: { width: 360, height: 800 }, colorScheme: 'dark' })
  await page.getByText(hostile.script).first().waitFor()
  expect(await page.getByRole('table').textContent()).not.toMatch(/[\p{Cf}\u{202e}]/u)
  await page.getByRole('link', { name: hostile.script }).click()
  await page.getByRole('link', { name: oddNames.script }).waitFor()
  expect(await page.title()).toBe('Failures and retrying · vitalsync')
  expect(await overflowOf(page)).toBe(0)
  expect(await findBarriers(page)).toEqual([])
})

test('names can be masked, and stay masked', async ({ visit }) => {
  const page = await visit('/failures')
  await page.getByRole('link', { name: hostile.script }).click()
  await page.getByRole('link', { name: oddNames.script }).waitFor()
  await page.getByLabel('Mask names').check()
  await page.reload()
  await page.getByRole('link', { name: /^person \d+$/ }).waitFor()
  expect(await page.content()).not.toContain('onerror=alert(1)')
})
