import recorded from './examples.json' with { type: 'json' }
import type { OpenApiOperation } from './openapi.ts'

/** A request that was sent to a sandbox, and its answer. Tokens are left out, and lists are cut. */
export type Example = {
  readonly request: {
    readonly method: string
    readonly path: string
    readonly caller: string
    readonly body?: unknown
  }
  readonly answer: { readonly status: number; readonly body?: unknown }
}

/** By operation, and `error`: a refused request. A test records them again and compares. */
export const recordedExamples: Readonly<Record<string, Example>> = recorded

const headersOf: Readonly<Record<string, readonly string[]>> = {
  account: ['Authorization: account $ACCOUNT_TOKEN'],
  profile: ['Authorization: profile $PROFILE_TOKEN'],
  app: ['AppId: $APP_ID', 'AppSecret: $APP_SECRET'],
}

/** The same request for a shell. */
export function curlOf({ request: { method, path, caller, body } }: Example): string {
  const words = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}"$SERVICE${path}"`,
    ...(headersOf[caller] ?? []).map((header) => `-H "${header}"`),
    ...(body === undefined ? [] : ['-H "Content-Type: application/json"', `-d '${JSON.stringify(body, null, 2)}'`]),
  ]
  return words.join(' \\\n  ')
}

/** The credentials that an operation asks for, in words. */
export function callerWords({ security = [] }: OpenApiOperation): string {
  const [scheme] = security
  if (!scheme) return 'Anyone may call it.'
  const names = Object.keys(scheme)
  return names.includes('appId')
    ? 'With an app key.'
    : `With the token of ${names[0] === 'account' ? 'an account' : 'a profile'}.`
}
