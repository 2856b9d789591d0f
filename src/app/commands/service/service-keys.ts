import { addServiceKey, endServiceKey, readServiceKeys } from '../../service-accounts.ts'
import { withServiceDatabase } from '../../service-database.ts'
import { type CommandContext, exitCodes } from '../../terminal/command-context.ts'
import { formatTable } from '../../terminal/table.ts'

type CreateOptions = {
  /** Created when it does not exist. */
  readonly account: string
  readonly kind: 'client' | 'app'
  readonly label: string
}

/** Prints the secret of a new key; it cannot be read again. */
export async function createServiceKey(context: CommandContext, options: CreateOptions): Promise<number> {
  const { terminal } = context
  const { publicId, secret } = await withServiceDatabase(context, (database) => addServiceKey(database, options))
  const shown =
    options.kind === 'app' ? { appId: publicId, appSecret: secret } : { clientId: publicId, clientSecret: secret }
  if (terminal.json) terminal.printJson('service keys create', shown)
  else for (const [name, value] of Object.entries(shown)) terminal.print(`${name.padEnd(14)}${value}`)
  return exitCodes.done
}

export async function listServiceKeys(context: CommandContext): Promise<number> {
  const { terminal } = context
  const keys = await withServiceDatabase(context, readServiceKeys)
  if (terminal.json) terminal.printJson('service keys list', keys)
  else {
    terminal.print(
      formatTable(
        ['id', 'kind', 'account', 'label', 'made', 'revoked'],
        keys.map((key) => [
          key.publicId,
          key.kind,
          key.account,
          key.label,
          formatDay(key.createdAt),
          formatDay(key.revokedAt),
        ]),
      ),
    )
  }
  return exitCodes.done
}

const formatDay = (at: Date | null) => at?.toISOString().slice(0, 10) ?? ''

export async function revokeServiceKey(context: CommandContext, { publicId }: { publicId: string }): Promise<number> {
  await withServiceDatabase(context, (database) => endServiceKey(database, publicId))
  context.terminal.say(`${publicId} is revoked.`)
  return exitCodes.done
}
