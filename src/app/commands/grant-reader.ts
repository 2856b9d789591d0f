import { createReader } from '../../pipeline/warehouse/reports/reader-role.ts'
import { type CommandContext, exitCodes } from '../terminal/command-context.ts'
import { withWarehouse } from '../with-pipeline.ts'

/** Lets a database role read the public views, and nothing else. */
export async function runGrantReader(context: CommandContext, { role }: { role: string }): Promise<number> {
  const { created } = await withWarehouse(context, (pool) => createReader(pool, role))
  context.terminal.say(
    created
      ? `${role} was created and may read the views of schema warehouse. Let it log in: alter role … login password '…'`
      : `${role} may read the views of schema warehouse.`,
  )
  return exitCodes.done
}
