import { accessSync, constants } from 'node:fs'
import { flushCompileCache } from 'node:module'

const SHELL = '/bin/sh'

/**
 * Ends this process at once. `process.exit` waits for the threads of V8 and libuv: without end for one that compiles and asks this
 * thread to collect garbage (nodejs/node#54918), for half a minute for the look-up of a name. So the process becomes a shell that ends.
 */
export function endProcess(code: number): never {
  if (hasShell()) {
    flushCompileCache() // written by `process.exit` otherwise
    process.execve?.(SHELL, ['sh', '-c', `exit ${code}`], {})
  }
  process.exit(code)
}

function hasShell(): boolean {
  try {
    accessSync(SHELL, constants.X_OK)
    return process.platform !== 'win32'
  } catch {
    return false
  }
}
