import { expect, onTestFinished, test } from 'vitest'
import { http, startRawServer } from '../../support/raw-server.ts'
import { openTestMeter } from '../../support/test-meter.ts'
import { nightlyCall, openTestUpstream } from '../../support/test-upstream.ts'

/** The profiles that a search finds where upstream has this one page, and the metric of those that cannot be used. */
async function search(page: readonly object[]) {
  const { points, close } = openTestMeter()
  const server = await startRawServer(({ head, socket }) => {
    const items = head.includes('currentPage=1&') ? page : []
    const isToken = head.includes('/oauth/account/token')
    socket.write(http(200, isToken ? '{"accountToken":"t","expiresIn":86400}' : JSON.stringify({ items })))
  })
  const opened = openTestUpstream({ url: server.url })
  onTestFinished(async () => {
    await opened.close()
    await server.close()
    await close()
  })
  const found: unknown[] = []
  for await (const profiles of opened.upstream.searchProfiles({}, nightlyCall)) found.push(...profiles)
  return { found, unusable: await points('vitalsync.upstream.odd_records') }
}

test('profiles without a name are left out of a search, and counted', async () => {
  const named = { externalId: 'ada' }

  expect(await search([named, {}, { externalId: 7 }])).toEqual({
    found: [expect.objectContaining(named)],
    unusable: [[{ stream: 'profiles' }, 2]],
  })
})

test('where all profiles have a name none is counted', async () => {
  expect(await search([{ externalId: 'ada' }])).toMatchObject({ found: [{ externalId: 'ada' }], unusable: [] })
})
