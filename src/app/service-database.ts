import { access } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config/env.ts'
import { type CloseStack, withCloseStack } from '../base/close-stack.ts'
import { joinLocalEngines } from '../base/engines/local-engines.ts'
import { UsageProblem } from '../base/errors.ts'
import { lockHolderOf } from '../base/files/folder-lock.ts'
import type { Log } from '../base/log.ts'
import { isFulfilled } from '../base/sleep.ts'
import type { CommandContext } from './terminal/command-context.ts'

/** The database of the Profile Service, for a command that changes its accounts. */
export type ServiceDatabase = { readonly databaseUrl: string; readonly nowAt: Date; readonly log: Log }

export function requireServiceDatabase({ databaseUrl }: Config): string {
  if (databaseUrl) return databaseUrl
  throw new UsageProblem('find the Profile Service’s database: DATABASE_URL is not set', {
    hint: 'Set it to a Postgres of your own, or start `vitalsync up` or `vitalsync sandbox`, which bring one along.',
  })
}

/** The folder of the engines that `vitalsync sandbox` starts. */
export const sandboxFolderOf = ({ dataFolder }: Config): string => join(dataFolder, 'sandbox')

/**
 * Runs `work` on DATABASE_URL. Without it on the service that `vitalsync up` or `vitalsync sandbox` runs here: its Postgres is
 * joined, never started a second time. Where neither runs, the Postgres of the last one is started for the time of the command.
 */
export async function withServiceDatabase<T>(
  context: CommandContext,
  work: (database: ServiceDatabase) => Promise<T>,
): Promise<T> {
  const { config, log } = context
  return withCloseStack(async (closeStack) => {
    const databaseUrl = config.databaseUrl ?? (await joinServiceDatabase(context, closeStack))
    return work({ databaseUrl, log, nowAt: new Date() })
  })
}

async function joinServiceDatabase(
  { config, terminal, signal }: CommandContext,
  closeStack: CloseStack,
): Promise<string> {
  const folders = [config.dataFolder, sandboxFolderOf(config)]
  const folder = (await firstWhere(folders, isRunning)) ?? (await firstWhere(folders, hasRun))
  if (folder === undefined) return requireServiceDatabase(config)
  return closeStack.add(await joinLocalEngines(folder, { slow: terminal.say, signal }), 'Postgres').serviceUrl
}

const isRunning = async (folder: string) => (await lockHolderOf(folder)) !== undefined
const hasRun = (folder: string) => isFulfilled(access(join(folder, 'secrets.json')))

async function firstWhere(
  folders: readonly string[],
  isSo: (folder: string) => Promise<boolean>,
): Promise<string | undefined> {
  for (const folder of folders) if (await isSo(folder)) return folder
  return undefined
}
