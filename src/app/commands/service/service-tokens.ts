import { endTokens } from '../../service-accounts.ts'
import { withServiceDatabase } from '../../service-database.ts'
import { type CommandContext, exitCodes } from '../../terminal/command-context.ts'

type RevokeOptions = {
  readonly account: string
  /** Absent: the tokens of the account and of all its profiles. */
  readonly externalId: string | undefined
}

/** Ends tokens in every running service, at once. Keys stay: the holder of a key gets new tokens. */
export async function revokeServiceTokens(context: CommandContext, options: RevokeOptions): Promise<number> {
  const revoked = await withServiceDatabase(context, (database) => endTokens(database, options))
  context.terminal.say(`${revoked} tokens are revoked, and the refresh tokens with them.`)
  return exitCodes.done
}
