import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))

/** The promises of the pipeline, by number; `test/promises/` has a test file of the same number for each. */
export const promises: Readonly<Record<number, string>> = {
  1: 'Rows and ledger are one commit: the ledger vouches for no row that is not there.',
  2: 'The queue is a hint: emptied in the middle of a run, it costs repeated planning and nothing else.',
  3: 'Coverage, not a cursor: due = wanted less covered; nothing advances past a hole.',
  4: 'A window settles by knowledge: upstream calls it finished, or the measured lateness has passed.',
  5: 'An older reading never overwrites a newer one, in whatever order they arrive.',
  6: 'An unchanged reading writes no record; a changed record keeps its history; a missing one is marked gone.',
  7: 'Pushed once by effect: "sent" is marked after upstream accepted, and sending again is harmless.',
  8: 'What was pushed is read back: no window counts as covered before upstream has derived from the push.',
  9: "One profile's trouble is its own: it blocks neither its other windows nor other profiles.",
  10: '401 is a protocol: one renewal of an expired token, in however many processes.',
  11: 'Upstream is protected: one adaptive request budget for all processes.',
  12: 'A tick happens once: a cron slot is a unique row.',
  13: 'Erasure is complete, lasts, and can be proven.',
  14: 'Queue, logs, metrics and error texts carry no health value, token or external id.',
  15: 'Everything is bounded: backlog, rows, requests, attempts, pages, memory.',
  16: 'Stopping is clean: SIGTERM drains within a stated time; kill -9 costs repeated work at most.',
  17: 'Silence is not life: on every edge a silent peer counts as gone after a stated time.',
  18: 'Covered windows are verified by sample against upstream.',
  19: 'The counts of runs add up to what was pushed and read.',
  20: 'Each day has an answer: the data is there, or the reason why not.',
}

/** The test file of a promise, from the root of the project. */
export function testFileOf(promise: number): string {
  const [file] = globSync(`test/promises/${String(promise).padStart(2, '0')}-*.test.ts`, { cwd: root })
  if (!file) throw new Error(`find the test of promise ${promise}: test/promises/ has no file of this number`)
  return file
}
