import { createHash, createHmac } from 'node:crypto'

/** The keys of a sandbox's own account, for a server and for an app, and the token of its control routes. */
export type SandboxCredentials = {
  readonly clientId: string
  readonly clientSecret: string
  readonly appId: string
  readonly appSecret: string
  readonly controlToken: string
}

/** The keys follow from the secret of a sandbox: the sandbox and the programs that know the secret need nothing else. */
export function sandboxCredentialsOf(sandboxSecret: string): SandboxCredentials {
  const secret = (name: string) => createHmac('sha256', sandboxSecret).update(name).digest('base64url')
  const id = (name: string) => `sandbox-${createHash('sha256').update(secret(name)).digest('hex').slice(0, 12)}`
  return {
    clientId: id('clientId'),
    clientSecret: secret('clientSecret'),
    appId: id('appId'),
    appSecret: secret('appSecret'),
    controlToken: secret('controlToken'),
  }
}
