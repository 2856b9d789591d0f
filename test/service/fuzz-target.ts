import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addServiceKey } from '../../src/app/service-accounts.ts'
import { startPostgres } from '../../src/base/engines/embedded-postgres.ts'
import { createLog } from '../../src/base/log.ts'
import { startSandbox } from '../../src/service/start-sandbox.ts'

/**
 * A sandbox of its own for a fuzzer, on a Postgres of its own. Prints one line of JSON when it is ready (address, tokens,
 * the externalId of a profile) and ends when its standard input ends.
 */
const folder = await mkdtemp(join(tmpdir(), 'vitalsync-fuzz-'))
await chmod(folder, 0o755) // as root, the server runs as nobody and must be able to enter
const postgres = await startPostgres({ folder, throwAway: true })
const databaseUrl = postgres.adminUrl('postgres')
const log = createLog({ level: 'warn' })
const sandbox = await startSandbox({
  databaseUrl,
  port: 0,
  profiles: 2,
  days: 20,
  seed: 'fuzz',
  log,
})

await sandbox.derived() // so that answers with derived records are held against the document as well
const externalId = await somebody()
// From another account: a fuzzer sends both ways of registering the same names, and in one account they would be in use.
const app = await addServiceKey({ databaseUrl, nowAt: new Date(), log }, { account: 'other', kind: 'app', label: '' })
process.stdout.write(
  `${JSON.stringify({
    url: sandbox.url,
    externalId,
    account: `account ${await accountToken()}`,
    profile: `profile ${await profileToken()}`,
    appId: app.publicId,
    appSecret: app.secret,
  })}\n`,
)
for await (const _ of process.stdin);
await sandbox.close()
await postgres.close()
await rm(folder, { recursive: true, force: true })

async function accountToken(): Promise<string> {
  const { clientId, clientSecret } = sandbox
  return (await post('account/token', { clientId, clientSecret }))['accountToken'] ?? ''
}

async function profileToken(): Promise<string> {
  const headers = { authorization: `account ${await accountToken()}` }
  return (await post('profile/token', { externalId }, headers))['profileToken'] ?? ''
}

async function somebody(): Promise<string> {
  const headers = { authorization: `account ${await accountToken()}` }
  const page = await fetch(`${sandbox.url}/api/v1/account/profile/search`, { headers })
  const { items } = (await page.json()) as { items: Array<{ externalId: string }> }
  return items[0]?.externalId ?? ''
}

async function post(path: string, body: object, headers: Record<string, string> = {}): Promise<Record<string, string>> {
  const response = await fetch(`${sandbox.url}/api/v1/oauth/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return (await response.json()) as Record<string, string>
}
