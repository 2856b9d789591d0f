import { SECOND } from '../../../src/base/time/units.ts'

/* Loaded into each process of the tests: it ends when the process that started it has ended, however that ended. */

const parent = process.ppid

setInterval(() => {
  if (process.ppid !== parent) process.exit(1)
}, SECOND).unref()
