import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { UsageProblem } from '../errors.ts'
import { isAlive } from './postgres.ts'

/** One start per folder. The lock of a process that was killed is taken over. */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const file = join(folder, 'lock')
  for (let tries = 0; tries < 3; tries++) {
    const made = await writeFile(file, `${process.pid}\n`, { flag: 'wx' }).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'EEXIST') return false
        throw new UsageProblem(`lock data folder ${folder}: ${error.message}`, {
          hint: 'Run as the user the folder belongs to, or choose another one with VITALSYNC_DATA.',
          cause: error,
        })
      },
    )
    if (made) return () => rm(file, { force: true })
    const holder = Number((await readFile(file, 'utf8').catch(() => '')).trim())
    if (holder > 0 && (await isOurs(holder))) {
      throw new UsageProblem(`lock data folder ${folder}: vitalsync runs here already (process ${holder})`, {
        hint: 'Use the one that runs, stop it with Ctrl-C, or choose another folder with VITALSYNC_DATA.',
      })
    }
    await rm(file, { force: true })
  }
  throw new UsageProblem(`lock data folder ${folder}: another start keeps taking it`, { hint: 'Start once.' })
}

/** A number left in a file may since belong to any process: only one that runs our program holds the lock. */
async function isOurs(pid: number): Promise<boolean> {
  if (pid === process.pid || !isAlive(pid)) return false
  const commandLine = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined)
  return commandLine === undefined ? process.platform !== 'linux' : /vitalsync|cli\.ts/.test(commandLine)
}
