import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { passwordLine } from '../../../src/web/passwords.ts'
import type { DashboardWorld } from './dashboard-world.ts'

/** A dashboard that asks for a password: ada may look, and her password is `correct horse battery`. */
export async function serveWithPasswords(world: DashboardWorld): Promise<{ url: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-dashboard-'))
  const file = join(folder, 'passwords')
  await writeFile(file, `${await passwordLine('ada', 'look', 'correct horse battery')}\n`)
  const served = await world.serve({ DASHBOARD_PASSWORD_FILE: file })
  await rm(folder, { recursive: true })
  return served
}
