import { type CommandContext, exitCodes } from '../assembly/command-context.ts'
import { grantServicePrivileges, serviceDatabaseOf } from '../assembly/service-accounts.ts'

/** Gives a database role the privileges that a running service needs, and no more. */
export async function runServiceGrant(context: CommandContext, { role }: { role: string }): Promise<number> {
  await grantServicePrivileges(serviceDatabaseOf(context), role)
  context.terminal.say(`${role} may serve. Start it with --no-migrate.`)
  return exitCodes.done
}
