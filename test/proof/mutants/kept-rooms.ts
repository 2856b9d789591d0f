import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { conditions } from '../kept-results.ts'
import type { Mutant } from './mutant.ts'
import type { Digest } from './run-stryker.ts'

/** The verdicts on the mutants of a file that compile, without the living ones. */
type FileCounts = {
  readonly file: string
  readonly killed: number
  readonly timedOut: number
  /** Killed by the simulation alone. Undefined where this is not measured. */
  readonly killedBySimulation: number | undefined
}

export type LivingMutant = Pick<Mutant, 'file' | 'line' | 'from' | 'to' | 'state'>

export type MeasuredRoom = {
  readonly room: string
  readonly files: readonly FileCounts[]
  readonly living: readonly LivingMutant[]
}

/** A room that was measured whole. `digests`: of all files that can change the result, by run of Stryker. */
export type KeptRoom = MeasuredRoom & {
  readonly date: string
  readonly commit: string
  readonly digests: readonly Digest[]
}

const folder = new URL('../results/mutants/', import.meta.url)
const fileOf = (room: string) => new URL(`${room}.json`, folder)

/** The result still holds: neither the sources of the room nor its tests, nor what they reach, have changed. */
export const isCurrent = (kept: KeptRoom, digests: readonly Digest[]): boolean =>
  JSON.stringify(kept.digests) === JSON.stringify(digests)

/** The last result of a room, from whatever machine. */
export function readKeptRoom(room: string): KeptRoom | undefined {
  try {
    return JSON.parse(readFileSync(fileOf(room), 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

export function keepRoom(measured: MeasuredRoom, digests: readonly Digest[]): KeptRoom {
  const { date, commit } = conditions()
  const kept = { ...measured, date, commit, digests }
  mkdirSync(folder, { recursive: true })
  writeFileSync(fileOf(measured.room), `${JSON.stringify(kept, null, 2)}\n`)
  return kept
}
