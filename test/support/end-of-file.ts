import { context, metrics, propagation, trace } from '@opentelemetry/api'
import { afterAll } from 'vitest'
import { ticksOfChildren } from './run-program.ts'

/*
 * Runs in each test process, which may run several files and loads each module once: takes back what the file made global, and
 * gives the reporter the processor time of the file. On a busy machine it stays what it is, where the clock runs on.
 */

declare module 'vitest' {
  interface TaskMeta {
    /** The processor time of the file's process, and of the programs that it started and saw end. */
    processorMs?: number
  }
}

/** The time at the end of the file before. */
const formerFiles = globalThis as { processorMs?: number }

afterAll(({}, file) => {
  // A second provider is refused while there is a first.
  for (const api of [context, metrics, propagation, trace]) api.disable()
  const { user, system } = process.cpuUsage()
  const processorMs = (user + system) / 1000 + ticksOfChildren() * 10
  file.meta.processorMs = processorMs - (formerFiles.processorMs ?? 0)
  formerFiles.processorMs = processorMs
})
