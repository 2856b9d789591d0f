import { shellQuoted } from '../../../base/text/readable.ts'
import { type ComposedRequest, isSecret, type ShownOperation } from './compose.ts'

/** The caller as a program writes it: ids in clear, secrets by the variable that holds them, but for the sandbox's own. */
export type CodeCaller = {
  readonly service: string
  readonly clientId: string
  /** Given for the sandbox's own key. */
  readonly clientSecret: string | undefined
  readonly appId: string
  readonly appSecret: string | undefined
  readonly person: string
}

type Asked = { readonly operation: ShownOperation; readonly request: ComposedRequest; readonly caller: CodeCaller }

const secretNames: Readonly<Record<string, string>> = {
  clientSecret: 'CLIENT_SECRET',
  refreshToken: 'REFRESH_TOKEN',
}

/** The parts of a body between its secrets, and the secrets as variables. */
function withoutSecrets(body: string): string[] {
  return body.split(/("(?:\w+)": "(?:[^"\\]|\\.)*")/).flatMap((part) => {
    const [, name = '', rest = ''] = /^"(\w+)": (".*")$/s.exec(part) ?? []
    return isSecret(name) && rest !== '' ? [`"${name}": "`, `$${secretNames[name] ?? 'SECRET'}`, '"'] : [part]
  })
}

const isVariable = (part: string): boolean => /^\$[A-Z_]+$/.test(part)

/** The same for a POSIX shell with curl. */
export function asCurl({ operation, request, caller }: Asked): string {
  const headers = Object.entries(request.headers).map(([name, value]) => `-H ${shellQuoted(`${name}: ${value}`)}`)
  const credentials = curlCredentials(operation, caller)
  const body = request.body
    ? [
        `-d ${withoutSecrets(request.body)
          .map((part) => (isVariable(part) ? `"${part}"` : shellQuoted(part)))
          .join('')}`,
      ]
    : []
  const words = [
    `curl -sS -i${request.method === 'GET' ? '' : ` -X ${request.method}`} "$SERVICE"${shellQuoted(request.path)}`,
    ...credentials.headers,
    ...headers,
    ...body,
  ]
  return [`SERVICE=${shellQuoted(caller.service)}`, ...credentials.lines, words.join(' \\\n  ')].join('\n')
}

const tokenLine = (name: string, field: string, request: string): string =>
  `${name}=$(${request} | sed 's/.*"${field}":"\\([^"]*\\)".*/\\1/')`

function curlCredentials({ caller: kind, name }: ShownOperation, caller: CodeCaller) {
  const secretLine = (variable: string, secret: string | undefined) =>
    secret === undefined ? [] : [`${variable}=${shellQuoted(secret)}`]
  if (kind === 'app')
    return {
      lines: secretLine('APP_SECRET', caller.appSecret),
      headers: [`-H ${shellQuoted(`AppId: ${caller.appId}`)}`, '-H "AppSecret: $APP_SECRET"'],
    }
  const secret = secretLine('CLIENT_SECRET', caller.clientSecret)
  if (kind === 'anyone') return { lines: name === 'accountToken' ? secret : [], headers: [] }
  const json = `-H 'content-type: application/json'`
  const account = tokenLine(
    'ACCOUNT_TOKEN',
    'accountToken',
    `curl -sS "$SERVICE/api/v1/oauth/account/token" ${json} \\\n  -d ${shellQuoted(`{"clientId":${JSON.stringify(caller.clientId)},"clientSecret":"`)}"$CLIENT_SECRET"'"}'`,
  )
  if (kind === 'account')
    return { lines: [...secret, account], headers: ['-H "Authorization: account $ACCOUNT_TOKEN"'] }
  const asked = `curl -sS "$SERVICE/api/v1/oauth/profile/token" -H "Authorization: account $ACCOUNT_TOKEN" ${json} \\\n  -d ${shellQuoted(JSON.stringify({ externalId: caller.person }))}`
  const tokens =
    name === 'refreshToken'
      ? [
          `TOKENS=$(${asked})`,
          tokenLine('PROFILE_TOKEN', 'profileToken', 'echo "$TOKENS"'),
          tokenLine('REFRESH_TOKEN', 'refreshToken', 'echo "$TOKENS"'),
        ]
      : [tokenLine('PROFILE_TOKEN', 'profileToken', asked)]
  return { lines: [...secret, account, ...tokens], headers: ['-H "Authorization: profile $PROFILE_TOKEN"'] }
}

/** The kinds of records that the typed client of the package reads. */
const readByClient: Readonly<Record<string, string>> = {
  scoresOf: 'scores',
  biomarkersOf: 'biomarkers',
  archetypesOf: 'archetypes',
  trendsOf: 'trends',
  comparisonsOf: 'comparisons',
}

const word = (text: string): string =>
  `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`

/** The same for Node: with the typed client of the package where it reads so, else with the fetch that Node brings (undici). */
export function asTypeScript(asked: Asked): string {
  const text = scriptOf(asked)
  return text.includes('env.') ? `import { env } from 'node:process'\n${text}` : text
}

function scriptOf(asked: Asked): string {
  const { operation, request, caller } = asked
  const query = new URLSearchParams(request.path.split('?')[1])
  const [from, to] = [query.get('startDateTime'), query.get('endDateTime')]
  const kind = readByClient[operation.name]
  if (kind && from && to && query.size === 2 && Object.keys(request.headers).length === 0)
    return `import { openClient } from 'vitalsync/client'

const client = openClient({
  url: ${word(caller.service)},
  clientId: ${word(caller.clientId)},
  clientSecret: ${secretWord('CLIENT_SECRET', caller.clientSecret)},
})
const { records, word } = await client.read(${word(kind)}, {
  externalId: ${word(personOf(request))},
  from: new Date(${word(from)}),
  to: new Date(${word(to)}),
})
console.log(records, word)
await client.close()
`
  return asFetch(asked)
}

const personOf = ({ path }: ComposedRequest): string => decodeURIComponent(path.split('?')[0]?.split('/').at(-1) ?? '')
const secretWord = (variable: string, secret: string | undefined): string =>
  secret === undefined ? `env.${variable} ?? ''` : word(secret)

function asFetch({ operation, request, caller }: Asked): string {
  const { lines, headers } = fetchCredentials(operation, caller)
  const given = Object.entries(request.headers).map(([name, value]) => `${word(name)}: ${word(value)}`)
  const options = [
    ...(request.method === 'GET' ? [] : [`method: ${word(request.method)},`]),
    `headers: { ${[...headers, ...given].join(', ')} },`,
    ...(request.body ? [`body: JSON.stringify(${bodyLiteral(request.body).replaceAll('\n', '\n  ')}),`] : []),
  ]
  return `const service = ${word(caller.service)}
${lines.join('')}const answer = await fetch(service + ${word(request.path)}, {
  ${options.join('\n  ')}
})
console.log(answer.status, await answer.text())
`
}

const literalNames: Readonly<Record<string, string>> = {
  CLIENT_SECRET: 'clientSecret',
  REFRESH_TOKEN: 'refreshToken',
  SECRET: "(env.SECRET ?? '')",
}

const bodyLiteral = (body: string): string =>
  withoutSecrets(body)
    .join('')
    .replaceAll(/"\$(CLIENT_SECRET|REFRESH_TOKEN|SECRET)"/g, (_, name: string) => literalNames[name] ?? name)

function fetchCredentials({ caller: kind, name }: ShownOperation, caller: CodeCaller) {
  const secret = `const clientSecret = ${secretWord('CLIENT_SECRET', caller.clientSecret)}\n`
  if (kind === 'app')
    return {
      lines: [`const appSecret = ${secretWord('APP_SECRET', caller.appSecret)}\n`],
      headers: [`AppId: ${word(caller.appId)}`, 'AppSecret: appSecret'],
    }
  if (kind === 'anyone') return { lines: name === 'accountToken' ? [secret] : [], headers: [] }
  const post = `const post = async (path: string, body: object, headers = {}) => {
  const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) }
  return (await fetch(service + path, init)).json()
}
`
  const account = `const { accountToken } = await post('/api/v1/oauth/account/token', { clientId: ${word(caller.clientId)}, clientSecret })
const account = { authorization: \`account \${accountToken}\` }
`
  if (kind === 'account') return { lines: [secret, post, account], headers: ['...account'] }
  const names = name === 'refreshToken' ? 'profileToken, refreshToken' : 'profileToken'
  const profile = `const { ${names} } = await post('/api/v1/oauth/profile/token', { externalId: ${word(caller.person)} }, account)\n`
  return { lines: [secret, post, account, profile], headers: [`authorization: \`profile \${profileToken}\``] }
}
