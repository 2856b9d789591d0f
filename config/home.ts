import { lstatSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { UsageProblem } from '../src/base/errors.ts'
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

const ROOT_ID = 0
const OTHERS_MAY_WRITE = 0o002

/**
 * An installed program reads the file of the folder one stands in: a file of another user could send health data to a database of
 * that user. The owner of the program can change the program, and is trusted.
 */
export function requireTrustedFile(file: string): void {
  const [link, found] = [lstatSync(file), statSync(file)]
  const trusted = [process.getuid?.(), ROOT_ID, statSync(fileURLToPath(import.meta.url)).uid]
  const refuse = (reason: string, hint: string) => {
    throw new UsageProblem(`read ${file}: ${reason}`, { hint })
  }
  if (process.getuid && [link, found].some(({ uid }) => !trusted.includes(uid)))
    refuse(
      'it belongs to another user',
      'Stand in a folder of your own, name it by VITALSYNC_HOME, or take the file over.',
    )
  if ((found.mode & OTHERS_MAY_WRITE) !== 0)
    refuse(
      'other users may write to it',
      `Look at what it holds, then take the right away: chmod o-w ${shellPath(file)}`,
    )
}
