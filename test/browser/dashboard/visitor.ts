import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { passwordLine } from '../../../src/web/passwords.ts'
import type { DashboardWorld } from './dashboard-world.ts'

/** A dashboard that asks for a password: ada and eve may look, and their password is `correct horse battery`. */
export async function serveWithPasswords(world: DashboardWorld): Promise<{ url: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-dashboard-'))
  const file = join(folder, 'passwords')
  const lines = ['ada', 'eve'].map((name) => passwordLine(name, 'look', 'correct horse battery'))
  await writeFile(file, (await Promise.all(lines)).join('\n'))
  const served = await world.serve({ DASHBOARD_PASSWORD_FILE: file })
  await rm(folder, { recursive: true })
  return served
}
