import { mkdtempSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { SECOND } from '../../../src/base/time/units.ts'
import { findClockLibrary, withoutWaits } from '../../any-day/clock-library.ts'
import { STARTING, type Supervised } from './supervised.ts'
import { until } from './until.ts'

/** A clock that jumps while its process runs. */
export type JumpingClock = {
  /** The environment of the process. */
  readonly env: Readonly<Record<string, string>>
  /** Whether the process itself saw the other time. */
  jump(by: { ms: number; forMs: number }, process: Supervised, logFile: string): Promise<boolean>
}

/** How often libfaketime reads its file again. */
const READ_AGAIN_MS = SECOND

/** Undefined where libfaketime is not installed. */
export function openJumpingClocks(folder: string): ((name: string) => JumpingClock) | undefined {
  const library = findClockLibrary()
  if (!library) return undefined
  const shifting = withoutWaits(library, join(mkdtempSync(join(folder, 'clock-')), 'libfaketime.so'))
  return (name) => {
    const file = join(folder, `${name}.clock`)
    const set = (ms: number) => writeFileSync(file, `${ms < 0 ? '' : '+'}${Math.round(ms / SECOND)}s\n`)
    set(0)
    return {
      env: {
        LD_PRELOAD: `${shifting} libc.so.6`,
        FAKETIME_TIMESTAMP_FILE: file,
        FAKETIME_CACHE_DURATION: String(READ_AGAIN_MS / SECOND),
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
      },
      async jump({ ms, forMs }, process, logFile) {
        set(ms)
        try {
          await wait(forMs)
          return await isClockOff(process, logFile, ms)
        } finally {
          set(0)
        }
      },
    }
  }
}

const SEEN_WITHIN_MS = 5 * SECOND
const CLOCK_ERROR_MAX_MS = 3 * SECOND

/** Asks the process for its time. It may have left for its wrong clock, and its successor is asked then. */
async function isClockOff(process: Supervised, logFile: string, ms: number): Promise<boolean> {
  return until(async () => {
    const log = (await readFile(logFile, 'utf8')).split(STARTING).at(-1) ?? ''
    if (log.includes('ready\n')) process.signal('SIGUSR2') // before, the signal would end it
    const told = [...log.matchAll(/^clock (\d+)$/gm)].at(-1)
    return told !== undefined && Math.abs(Number(told[1]) - Date.now() - ms) < CLOCK_ERROR_MAX_MS
  }, SEEN_WITHIN_MS)
}
