import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { test as base } from 'vitest'
import { createLog } from '../../../src/base/log.ts'
import { consoleExtension } from '../../../src/service/console/console-extension.ts'
import { startService } from '../../../src/service/server.ts'
import { type Sandbox, startSandbox } from '../../../src/service/start-sandbox.ts'
import { passwordLine } from '../../../src/web/passwords.ts'
import { template, within } from '../../support/fixtures.ts'
import { type Visit, withBrowser, withVisits } from '../open-browser.ts'

export type ConsoleWorld = {
  readonly sandbox: Sandbox
  /** The lines of the sandbox's log. */
  readonly logged: string[]
  /** A service on the same database, as `vitalsync service` runs it on this address. */
  serve(host: string, passwords?: readonly string[]): Promise<{ url: string; logged: string[] }>
}

const PEOPLE = 2
const DAYS = 5

/** One sandbox and one browser for all tests of the file. */
export const test = base.extend<{
  $file: { browser: Browser | undefined; shared: ConsoleWorld }
  $test: { world: ConsoleWorld; visit: Visit }
}>({
  browser: [async ({}, use) => withBrowser(use), { scope: 'file' }],
  shared: [
    async ({}, use) => within(await template('service'), (databaseUrl) => withWorld(databaseUrl, use)),
    { scope: 'file' },
  ],
  world: async ({ shared }, use) => use(shared),
  visit: [
    async ({ browser, shared, skip }, use) =>
      withVisits({ browser, skip, url: shared.sandbox.url, path: '/console' }, use),
    { scope: 'test' },
  ],
})

function loggedTo(lines: string[]) {
  return createLog({ level: 'info', destination: { write: (line) => void lines.push(line) } })
}

async function withWorld(databaseUrl: string, use: (world: ConsoleWorld) => Promise<void>): Promise<void> {
  const logged: string[] = []
  const log = loggedTo(logged)
  const sandbox = await startSandbox({ databaseUrl, port: 0, profiles: PEOPLE, days: DAYS, seed: 'console', log })
  await sandbox.derived()
  const opened: Array<{ close(): Promise<void> }> = []
  const serve: ConsoleWorld['serve'] = async (host, passwords) => {
    const lines: string[] = []
    const folder = await mkdtemp(join(tmpdir(), 'vitalsync-console-'))
    const passwordFile = passwords && join(folder, 'passwords')
    if (passwordFile) await writeFile(passwordFile, `${passwords.join('\n')}\n`)
    const service = await startService({ databaseUrl, port: 0, host, log: loggedTo(lines) }, async (extend) =>
      extend(consoleExtension({ passwordFile })),
    )
    opened.push(service)
    await rm(folder, { recursive: true })
    return { url: service.url, logged: lines }
  }
  try {
    await use({ sandbox, logged, serve })
  } finally {
    for (const service of opened) await service.close()
    await sandbox.close()
  }
}

export const lineFor = (name: string, role: 'look' | 'act') => passwordLine(name, role, 'correct horse battery')
