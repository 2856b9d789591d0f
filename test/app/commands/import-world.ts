import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test as base } from '../../support/fixtures.ts'
import { insertPeople } from '../../support/insert-people.ts'
import { type Program, startProgram } from '../../support/run-program.ts'
import { openTestPool } from '../../support/test-pool.ts'

type Fixtures = {
  folder: string
  /** Starts `vitalsync import` with these words in the folder. */
  start: (...words: string[]) => Program
  query: (text: string) => Promise<Array<Record<string, unknown>>>
}

/** An import into a warehouse that knows these people. */
export const importTest = (people: readonly string[]) =>
  base.extend<Fixtures>({
    folder: async ({}, use) => {
      const folder = await mkdtemp(join(tmpdir(), 'vitalsync-import-'))
      await use(folder)
      await rm(folder, { recursive: true, force: true })
    },
    start: async ({ folder, warehouseUrl }, use) => {
      const started: Program[] = []
      await use((...words) => {
        const program = startProgram(['import', ...words], { cwd: folder, env: { DATABASE_URL: warehouseUrl } })
        started.push(program)
        return program
      })
      for (const program of started) program.kill('SIGKILL')
      await Promise.all(started.map((program) => program.ended))
    },
    query: async ({ warehouseUrl }, use) => {
      const pool = openTestPool(warehouseUrl, 1)
      await insertPeople(pool, people)
      await use(async (text) => (await pool.query(text)).rows)
      await pool.end()
    },
  })
