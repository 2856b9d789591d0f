import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Config } from '../../config/env.ts'
import { UsageProblem } from '../base/errors.ts'
import { makeDataFolder } from '../base/files/data-folder.ts'
import { readOrDrawSecret, replacePrivateFile } from '../base/files/private-file.ts'
import type { Sandbox } from '../service/start-sandbox.ts'

const hint = 'Choose a folder of this user with VITALSYNC_DATA, or give the secret with SANDBOX_SECRET.'

/** The secret from which a sandbox's keys follow: SANDBOX_SECRET, else that of the data folder, which is drawn at the first start. */
export async function sandboxSecretOf({ sandboxSecret }: Config, folder: string): Promise<string> {
  if (sandboxSecret !== undefined) return sandboxSecret
  const file = join(folder, 'sandbox-secret')
  await makeDataFolder(folder, hint)
  const secret = await readOrDrawSecret(file, () => randomBytes(32).toString('base64url'), hint)
  if (/^[\w-]{43}$/.test(secret)) return secret
  throw new UsageProblem(`read ${file}: it holds no secret of a sandbox`, {
    hint: 'Remove the file: the next start draws a new secret, and keys that follow from it.',
  })
}

/** The keys of the sandbox in a file that only this user may read, as curl sends it. Returns the path. */
export async function writeSandboxCredentials(folder: string, sandbox: Sandbox): Promise<string> {
  const { clientId, clientSecret, appId, appSecret, controlToken } = sandbox
  const file = join(folder, 'sandbox-credentials.json')
  await replacePrivateFile(file, JSON.stringify({ clientId, clientSecret, appId, appSecret, controlToken }))
  return file
}
