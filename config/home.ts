import { lstatSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UsageProblem } from '../src/base/errors.ts'
import { accessOfOthers } from '../src/base/files/data-folder.ts'
import { shellPath } from '../src/base/text/readable.ts'

/**
 * The folder of `.env` and of the data: VITALSYNC_HOME, else the checkout of this program, wherever one stands. A program
 * that is installed as a package belongs to the folder one stands in: its own would be deleted with the next installation.
 */
export function homeFolder(
  given: string | undefined,
  program: string = import.meta.url,
  standing: string = process.cwd(),
): string {
  if (given) return resolve(standing, given)
  const checkout = dirname(dirname(fileURLToPath(program)))
  return /[\\/]node_modules[\\/]/.test(checkout) ? standing : checkout
}

/**
 * An installed program reads the file of the folder one stands in: a file of another user could send health data to a database of
 * that user. The owner of the program can change the program, and is trusted.
 */
export function requireTrustedFile(file: string): void {
  const looked = { link: lstatSync(file), found: statSync(file) }
  const program = statSync(fileURLToPath(import.meta.url))
  const reason = accessOfOthers(looked, [process.getuid?.() ?? program.uid, program.uid])
  if (reason === undefined) return
  const hints = {
    'it belongs to another user': 'Stand in a folder of your own, name it by VITALSYNC_HOME, or take the file over.',
    'other users may write to it': `Look at what it holds, then take the right away: chmod o-w ${shellPath(file)}`,
  }
  throw new UsageProblem(`read ${file}: ${reason}`, { hint: hints[reason] })
}
