import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { UsageProblem } from '../errors.ts'
import { dataFolderHint } from '../files/data-folder.ts'
import { lockHolderOf } from '../files/folder-lock.ts'
import { readPrivateFile, replacePrivateFile } from '../files/private-file.ts'
import { jsonOrUndefined } from '../text/json.ts'

const runningSchema = z.object({
  pid: z.int(),
  startedAt: z.string(),
  databaseUrl: z.string(),
  queueUrl: z.string(),
  upstream: z.object({ url: z.string(), clientId: z.string(), clientSecret: z.string() }),
  /** In base64. */
  tokenKeys: z.array(z.string()),
})

/** The addresses that `vitalsync up` writes down, so that other commands on this machine need no address of their own. */
export type RunningEngines = Readonly<z.output<typeof runningSchema>>

const fileIn = (folder: string) => join(folder, 'running.json')

/**
 * The file holds secrets: only the user who started `up` may read it. `close` removes it; after a kill it names a process that
 * holds no lock.
 */
export async function writeRunning(folder: string, running: RunningEngines): Promise<{ close(): Promise<void> }> {
  const file = fileIn(folder)
  await replacePrivateFile(file, JSON.stringify(running, undefined, 2))
  return { close: () => rm(file, { force: true }) }
}

/**
 * Undefined when no `up` runs in this folder. After a kill another process may have its id, and a stranger may listen on its ports.
 */
export async function readRunning(folder: string): Promise<RunningEngines | undefined> {
  const pid = await lockHolderOf(folder)
  const text = pid === undefined ? undefined : await readPrivateFile(fileIn(folder), dataFolderHint)
  if (text === undefined) return undefined
  const { data: running } = runningSchema.safeParse(jsonOrUndefined(text))
  if (!running)
    throw new UsageProblem(`read ${fileIn(folder)}: it does not hold the addresses of \`vitalsync up\``, {
      hint: 'Stop the `vitalsync up` that runs there, and start it with this version.',
    })
  return running.pid === pid ? running : undefined
}
