import { expect } from 'vitest'
import { findBarriers, overflowOf } from '../open-browser.ts'
import { test } from './dashboard-world.ts'

test('the first screen says the state in one sentence, and updates automatically', async ({ visit, world }) => {
  const page = await visit('/')
  const sentence = page.locator('.sentence')

  await sentence.getByText('3 records in quarantine').waitFor()
  await page.getByText('upstream answers 503').waitFor()
  await world.rows('delete from vitalsync.failures')
  await page.getByText('upstream answers 503').waitFor({ state: 'detached' })
  expect(await page.title()).toBe('Now · vitalsync')
})

test('it is usable at 360 and 1920 pixels, light and dark, without barriers', async ({ visit }) => {
  for (const [width, colorScheme] of [
    [360, 'dark'],
    [1920, 'light'],
  ] as const) {
    const page = await visit('/', { viewport: { width, height: 800 }, colorScheme })
    await page.getByRole('heading', { name: 'Streams' }).waitFor()
    expect({ width, overflow: await overflowOf(page) }).toEqual({ width, overflow: 0 })
    expect(await findBarriers(page)).toEqual([])
  }
})
