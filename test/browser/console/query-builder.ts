import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { operations } from '../../../src/base/contract/operations.ts'
import { asCurl, asTypeScript } from '../../../src/service/console/browser/as-code.ts'
import { composeRequest, type Filled, type ShownOperation } from '../../../src/service/console/browser/compose.ts'
import { soon } from '../../support/fixtures.ts'
import { openSession, send } from '../send.ts'
import { type ConsoleWorld, test } from './console-world.ts'

const person = 'SampleProfile-office-worker-1'

async function shownOperations({ sandbox }: ConsoleWorld): Promise<ShownOperation[]> {
  const session = await openSession(`${sandbox.url}/console`)
  const { body } = await send(`${sandbox.url}/console/api/operations`, { ...session, body: '{}' })
  const { sections }: { sections: Array<{ operations: ShownOperation[] }> } = JSON.parse(body)
  return sections.flatMap((section) => section.operations)
}

const callerOf = ({ sandbox: { url, clientId, clientSecret, appId, appSecret } }: ConsoleWorld, name: string) => ({
  service: url,
  clientId,
  clientSecret,
  appId,
  appSecret,
  person: name,
})

/** The inputs as a person fills them: required ones, and the example where a body is JSON. */
function filledFor({ name, body, parameters }: ShownOperation, world: ConsoleWorld): Filled {
  const own: Readonly<Record<string, Filled>> = {
    accountToken: { 'body.clientId': world.sandbox.clientId, 'body.clientSecret': world.sandbox.clientSecret },
    register: { 'body.externalId': `it's "anna"` },
    registerByApp: { 'body.externalId': 'ben' },
    profileToken: { 'body.externalId': person },
    refreshToken: { 'body.refreshToken': 'any' },
    deleteProfiles: { externalId: 'nobody' },
    explain: { date: '2026-03-01', score: 'sleep' },
    replaceDemographic: { 'body.age': '41', 'body.country': 'NL' },
    updateDemographic: { 'body.occupation': 'nurse' },
  }
  const example = body?.example as Record<string, string> | null | undefined // of the reference, by field
  const flat = Object.entries(example ?? {}).map(([field, value]): [string, string] => [`body.${field}`, value])
  const json = body && !body.inputs && example ? { body: JSON.stringify(example) } : {}
  const path = parameters.some(({ location }) => location === 'path') ? { externalId: person } : {}
  return { ...path, ...json, ...(body?.inputs && !own[name] ? Object.fromEntries(flat) : {}), ...own[name] }
}

test('each operation of the document is composed, and its curl is taken by the service', async ({ world }) => {
  const shown = await shownOperations(world)
  expect(shown.map(({ name }) => name).toSorted()).toEqual([...Object.keys(operations), 'explain'].toSorted())

  const statuses = await inTurn(shown, async (operation) => {
    const request = composeRequest(operation, filledFor(operation, world))
    const curl = asCurl({ operation, request, caller: callerOf(world, person) })
    const { stdout } = await promisify(execFile)('sh', ['-euc', curl])
    return [operation.name, Number(/^HTTP\/1.1 (\d+)/m.exec(stdout)?.[1])]
  })
  expect(statuses.filter(([, status]) => !(Number(status) < 300))).toEqual([])
})

test('TypeScript does the same, by the typed client where it reads so, with secrets from outside', async ({
  world,
}) => {
  const shown = await shownOperations(world)
  const byName = new Map(shown.map((operation) => [operation.name, operation]))
  const endDateTime = new Date().toISOString()
  const asked: Array<[string, Filled, RegExp]> = [
    ['scoresOf', { externalId: person, startDateTime: '2026-01-01', endDateTime }, /wellbeing|finished|pending/],
    ['scoresOf', { externalId: person, types: 'sleep' }, /^20[04]/],
    ['refreshToken', { 'body.refreshToken': 'any' }, /^200 .*profileToken/],
    ['registerByApp', { 'body.externalId': 'by\nTypeScript\\ "and" \'more\'' }, /^201/],
    ['accountToken', filledFor(byName.get('accountToken') as ShownOperation, world), /^200 .*accountToken/],
  ]
  const texts = asked.map(([name, filled]) => {
    const operation = byName.get(name) as ShownOperation // found above
    const request = composeRequest(operation, filled)
    const caller = { ...callerOf(world, person), clientSecret: undefined, appSecret: undefined }
    return asTypeScript({ operation, request, caller })
  })
  expect(texts[0]).toContain("from 'vitalsync/client'")
  expect(texts.join('\n')).not.toContain(world.sandbox.clientSecret)

  const printed = await runScripts(texts, world)
  for (const [place, text] of printed.entries()) expect(text).toMatch(asked[place]?.[2] ?? /never/)
})

async function runScripts(texts: readonly string[], { sandbox }: ConsoleWorld): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-code-'))
  const client = new URL('../../../src/client.ts', import.meta.url).href
  const env = { ...process.env, CLIENT_SECRET: sandbox.clientSecret, APP_SECRET: sandbox.appSecret }
  try {
    return await inTurn(texts, async (text) => {
      const file = join(folder, `${texts.indexOf(text)}.mts`)
      await writeFile(file, text.replace("'vitalsync/client'", `'${client}'`))
      return (await promisify(execFile)(process.execPath, [file], { env })).stdout
    })
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** One after another: the machine that runs the tests has few cores. */
async function inTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const done: R[] = []
  for (const item of items) done.push(await work(item))
  return done
}

test('a query is filled in, sent, and shown; its address can be shared and holds no person and no secret', async ({
  visit,
  world,
}) => {
  const page = await visit('/query/scoresOf')
  await page.getByLabel('Person (externalId)').fill(person)
  await page.getByRole('button', { name: 'sleep', exact: true }).click()
  await page.getByLabel('startDateTime').fill('2026-01-01T00:00:00Z')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('200 OK').waitFor()
  await expect.poll(() => page.getByLabel('Body of the answer').innerText(), soon).toContain('"type": "sleep"')
  expect(await page.getByLabel('Body of the answer').innerText()).not.toContain('"type": "activity"')

  const address = new URL(page.url())
  expect(address.searchParams.get('types')).toBe('sleep')
  expect(address.href).not.toMatch(/office|sandbox-/)
  await page.reload()
  await page.getByRole('button', { name: 'sleep', exact: true, pressed: true }).waitFor()

  await page.goto(`${world.sandbox.url}/console/query/refreshToken`)
  await page.getByLabel('Person (externalId)').fill(person)
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('200 OK').waitFor()
  expect(await page.getByLabel('Body of the answer').innerText()).toContain('"profileToken": "…"')
  expect(await page.evaluate('JSON.stringify([localStorage, sessionStorage, history.state])')).toBe('[{},{},null]')
})

test('a body that does not fit is reported before it is sent, and a deletion asks', async ({ visit, world }) => {
  const page = await visit('/query/uploadTags')
  await page.getByLabel('JSON').fill('{"type":')
  await page.getByText(/The body is not JSON/).waitFor()
  expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true)

  await page.goto(`${world.sandbox.url}/console/query/deleteProfiles`)
  await page.getByLabel('externalId', { exact: true }).fill('nobody-of-this-name')
  await page.getByRole('button', { name: 'Send' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(/It cannot be taken back/).waitFor()
  await dialog.getByRole('button', { name: 'Send' }).click()
  await dialog.getByText('Sent: 204').waitFor()
})
