import { beforeEach } from 'vitest'
import { nameOf } from './test-names.ts'

/* Writes the name of the test that runs into the environment, for the record of statements; threads inherit it. */

beforeEach(({ task }) => {
  process.env['SQL_FILE'] = task.file.filepath
  process.env['SQL_TEST'] = nameOf(task)
})
