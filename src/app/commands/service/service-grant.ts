import { grantServicePrivileges } from '../../service-accounts.ts'
import { withServiceDatabase } from '../../service-database.ts'
import { type CommandContext, exitCodes } from '../../terminal/command-context.ts'

/** Gives a database role the privileges that a running service needs, and no more. */
export async function runServiceGrant(context: CommandContext, { role }: { role: string }): Promise<number> {
  await withServiceDatabase(context, (database) => grantServicePrivileges(database, role))
  context.terminal.say(`${role} may serve. Start it with --no-migrate.`)
  return exitCodes.done
}
