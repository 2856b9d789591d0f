import { existsSync, globSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'

/** Debian's libfaketime, which shifts the clock of a process; undefined where it is not installed. */
export const findClockLibrary = (): string | undefined => globSync('/usr/lib/*/faketime/libfaketime.so.1')[0]

/**
 * A copy of libfaketime that leaves the functions that wait to libc. A signal handler that runs while libfaketime waits
 * reads the real clock, so timers of Postgres (deadlock_timeout, statement_timeout) would ring after the whole shift.
 * Only a clock that runs faster or slower needs these functions; renaming their symbols hides them from the linker.
 */
export function withoutWaits(library: string, copy: string): string {
  const names = ['poll', 'select', 'epoll_wait', 'epoll_pwait', 'sleep', 'alarm'] // and all that end so: ppoll, usleep
  const bytes = readFileSync(library)
  for (const name of names) {
    const symbol = Buffer.from(`${name}\0`)
    for (let at = bytes.indexOf(symbol); at >= 0; at = bytes.indexOf(symbol, at + 1))
      bytes.write('-', at + name.length - 1)
  }
  writeFileSync(copy, bytes)
  return copy
}

/** A killed process leaves the two files behind that libfaketime made for it. */
export function forgetTheDead(): void {
  const folder = '/dev/shm'
  for (const file of existsSync(folder) ? readdirSync(folder) : []) {
    const [, pid] = /^(?:sem\.)?faketime_(?:sem|shm)_(\d+)$/.exec(file) ?? []
    if (pid && !existsSync(`/proc/${pid}`)) rmSync(`${folder}/${file}`, { force: true })
  }
}
