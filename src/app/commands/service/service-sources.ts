import { setOrReadSourcePriority } from '../../service-accounts.ts'
import { withServiceDatabase } from '../../service-database.ts'
import { type CommandContext, exitCodes } from '../../terminal/command-context.ts'

type SourcesOptions = {
  readonly account: string
  /** Best first; empty: the order of the model; absent: the order is only shown. */
  readonly sources: readonly string[] | undefined
}

/** Sets or shows the order in which an account's sources are preferred. */
export async function runServiceSources(context: CommandContext, options: SourcesOptions): Promise<number> {
  const { terminal } = context
  const { sources, profiles } = await withServiceDatabase(context, (database) =>
    setOrReadSourcePriority(database, options),
  )
  if (terminal.json) terminal.printJson('service sources', { sources, profiles })
  else {
    terminal.print(sources.length === 0 ? 'the order of the model' : sources.join(', '))
    if (options.sources) terminal.say(`${profiles} profiles will be derived anew.`)
  }
  return exitCodes.done
}
