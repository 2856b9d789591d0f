import { afterAll } from 'vitest'
import { ticksOfChildren } from './run-program.ts'

/*
 * Runs in each test process: gives the reporter the processor time of each file. On a busy machine it stays what it is, where the
 * clock runs on.
 */

declare module 'vitest' {
  interface TaskMeta {
    /** Of the file's process, from its start on, and of the programs that it started and saw end. */
    processorMs?: number
  }
}

/** A process may run several files, each of which loads this module anew. */
const formerFiles = globalThis as { processorMs?: number }

afterAll(({}, file) => {
  const { user, system } = process.cpuUsage()
  const processorMs = (user + system) / 1000 + ticksOfChildren() * 10
  file.meta.processorMs = processorMs - (formerFiles.processorMs ?? 0)
  formerFiles.processorMs = processorMs
})
