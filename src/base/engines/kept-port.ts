import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { dataFolderHint } from '../files/data-folder.ts'
import { readPrivateFile, replacePrivateFile } from '../files/private-file.ts'

/** How many successors of a taken port are tried before the system chooses. */
const NEXT_PORTS_MAX = 20
const PORT_MAX = 65_535

/**
 * No port is looked at here: another program may take it between a look and the start, so that only listening shows whether it
 * is free. The first time `firstPort` comes first.
 */
export async function readKeptPort(folder: string, name: string, firstPort = 0) {
  const file = join(folder, name)
  const last = (await readPort(file)) || firstPort
  const successors = Array.from({ length: last === 0 ? 0 : NEXT_PORTS_MAX }, (_, index) => last + 1 + index)
  return {
    /** The ports in the order in which they are to be tried: the last start's, its successors, and 0 for any. */
    candidates: [...new Set([last, ...successors.filter((port) => port <= PORT_MAX), 0])],
    /** Writes down the port that could be opened. Returns the last start's where another program has it now. */
    async keep(port: number) {
      await replacePrivateFile(file, String(port))
      return last === 0 || last === port ? undefined : last
    },
  }
}

/** The port that the process which holds the folder's lock has opened. Undefined: it has not yet, and a stranger may listen on that of the last start. */
export async function readRunningPort(folder: string, name: string): Promise<number | undefined> {
  const [port, lock] = await Promise.all([name, 'lock'].map((file) => stat(join(folder, file)).catch(() => undefined)))
  if (!port || !lock || port.mtimeMs < lock.mtimeMs) return undefined
  return (await readPort(join(folder, name))) || undefined
}

/** The port of an address of HTTP, which leaves out 80. */
export const portOf = (url: string): number => Number(new URL(url).port || 80)

async function readPort(file: string): Promise<number> {
  const text = (await readPrivateFile(file, dataFolderHint)) ?? ''
  return /^\d{1,5}$/.test(text.trim()) && Number(text) <= PORT_MAX ? Number(text) : 0
}
