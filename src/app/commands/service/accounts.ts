import {
  addServiceKey,
  endServiceKey,
  endTokens,
  grantServicePrivileges,
  readServiceKeys,
  setOrReadSourcePriority,
} from '../../service-accounts.ts'
import { withServiceDatabase } from '../../service-database.ts'
import type { CommandContext } from '../../terminal/command-context.ts'
import { printResult } from '../../terminal/print-result.ts'
import { formatTable } from '../../terminal/table.ts'

type CreateOptions = {
  /** Created when it does not exist. */
  readonly account: string
  /** A key of an app, in place of one of a server. */
  readonly app: boolean
  readonly label: string
}

/** Prints the secret of a new key; it cannot be read again. */
export async function createServiceKey(context: CommandContext, { app, ...key }: CreateOptions): Promise<void> {
  const { publicId, secret } = await withServiceDatabase(context, (database) =>
    addServiceKey(database, { ...key, kind: app ? 'app' : 'client' }),
  )
  const shown = app ? { appId: publicId, appSecret: secret } : { clientId: publicId, clientSecret: secret }
  const lines = Object.entries(shown).map(([name, value]) => `${name.padEnd(14)}${value}`)
  printResult(context.terminal, ['service keys create', shown], lines)
}

export async function listServiceKeys(context: CommandContext): Promise<void> {
  const keys = await withServiceDatabase(context, readServiceKeys)
  const rows = keys.map(({ publicId, kind, account, label, createdAt, revokedAt }) => [
    ...[publicId, kind, account, label, formatDay(createdAt), formatDay(revokedAt)],
  ])
  const table = formatTable(['id', 'kind', 'account', 'label', 'made', 'revoked'], rows)
  printResult(context.terminal, ['service keys list', keys], table)
}

const formatDay = (at: Date | null) => at?.toISOString().slice(0, 10) ?? ''

export async function revokeServiceKey(context: CommandContext, { id }: { id: string }): Promise<void> {
  await withServiceDatabase(context, (database) => endServiceKey(database, id))
  context.terminal.say(`${id} is revoked.`)
}

/** Gives a database role the privileges that a running service needs, and no more. */
export async function runServiceGrant(context: CommandContext, { role }: { role: string }): Promise<void> {
  await withServiceDatabase(context, (database) => grantServicePrivileges(database, role))
  context.terminal.say(`${role} may serve. Start it with --no-migrate.`)
}

type SourcesOptions = {
  readonly account: string
  /** Best first; absent: the order is only shown. */
  readonly sources?: readonly string[]
  /** Goes back to the order of the model. */
  readonly reset: boolean
}

/** Sets or shows the order in which an account's sources are preferred. */
export async function runServiceSources(context: CommandContext, options: SourcesOptions): Promise<void> {
  const { terminal } = context
  const { account, reset } = options
  const wanted = reset ? [] : options.sources
  const { sources, profiles } = await withServiceDatabase(context, (database) =>
    setOrReadSourcePriority(database, { account, sources: wanted }),
  )
  if (terminal.json) terminal.printJson('service sources', { sources, profiles })
  else {
    terminal.print(sources.length === 0 ? 'the order of the model' : sources.join(', '))
    if (wanted) terminal.say(`${profiles} profiles will be derived anew.`)
  }
}

type RevokeOptions = {
  readonly account: string
  /** Absent: the tokens of the account and of all its profiles. */
  readonly profile?: string
}

/** Ends tokens in every running service, at once. Keys stay: the holder of a key gets new tokens. */
export async function revokeServiceTokens(
  context: CommandContext,
  { account, profile: externalId }: RevokeOptions,
): Promise<void> {
  const revoked = await withServiceDatabase(context, (database) => endTokens(database, { account, externalId }))
  context.terminal.say(`${revoked} tokens are revoked, and the refresh tokens with them.`)
}
