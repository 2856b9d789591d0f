import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

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
