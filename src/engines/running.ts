import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isAlive } from './alive.ts'

/** What `up` tells other commands on this machine, so that they can work beside it without any address being set. */
export type Running = {
  readonly pid: number
  readonly startedAt: string
  readonly databaseUrl: string
  readonly queueUrl: string
  readonly upstream: {
    readonly url: string
    readonly clientId: string
    readonly clientSecret: string
    readonly appId?: string | undefined
    readonly appSecret?: string | undefined
  }
  /** In base64. */
  readonly tokenKey: string
}

const fileIn = (folder: string) => join(folder, 'running.json')

/** It holds secrets: only the user who started may read it. Removed by `close`; after a kill it names a dead process. */
export async function writeRunning(folder: string, running: Running): Promise<{ close(): Promise<void> }> {
  const file = fileIn(folder)
  const draft = `${file}.${process.pid}`
  await writeFile(draft, JSON.stringify(running, undefined, 2), { mode: 0o600 })
  await rename(draft, file)
  return { close: () => rm(file, { force: true }) }
}

/** Undefined when nothing runs in this folder, or when what runs there may not be used by this user. */
export async function readRunning(folder: string): Promise<Running | undefined> {
  const text = await readFile(fileIn(folder), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const running = JSON.parse(text) as Running // written whole by `writeRunning`, or not there
  return isAlive(running.pid) ? running : undefined
}
