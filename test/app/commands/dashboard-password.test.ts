import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { test } from '../../support/fixtures.ts'
import { settingsFor, startProgram } from '../../support/run-program.ts'

test('dashboard --draw-password opens beyond this machine, and keeps one password that only its owner may read', async ({
  warehouseUrl,
  onTestFinished,
}) => {
  const folder = await mkdtemp(join(tmpdir(), 'vitalsync-drawn-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const env = { ...settingsFor(warehouseUrl), VITALSYNC_DATA: join(folder, 'data') }
  const file = join(folder, 'data', 'dashboard-password')
  const open = async (...words: string[]) => {
    const program = startProgram(['dashboard', '--host', '0.0.0.0', '--port', '0', ...words], { cwd: folder, env })
    onTestFinished(() => program.kill('SIGKILL'))
    return program
  }
  const refused = await open()
  expect((await refused.ended).stderr).toContain('nobody would be asked who they are')

  const drawn = new Set<string>()
  for (const _ of ['first', 'second']) {
    const program = await open('--draw-password')
    await program.said(/Dashboard: http/)
    expect(program.stderr()).toContain(`Sign in as operator; the password is in ${file}`)
    drawn.add((await readFile(file, 'utf8')).trim())
    program.kill('SIGTERM')
    expect(await program.ended).toMatchObject({ code: 0 })
  }

  expect([...drawn]).toEqual([expect.stringMatching(/^[\w-]{24}$/)])
  expect((await stat(file)).mode & 0o077).toBe(0)
})
