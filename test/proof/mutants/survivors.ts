import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Mutant } from './mutant.ts'

/**
 * A known survivor. The changed lines name it, so it is found again wherever they move in the file. The reason of a mutant that behaves as the
 * original does begins with "equivalent:"; such a mutant counts in no score. Any other reason says why no test is to notice it.
 */
export type KnownSurvivor = {
  readonly file: string
  readonly from: string
  readonly to: string
  readonly reason: string
}

/** The survivors of a room, from `survivors/ROOM.json`. */
export function knownSurvivors(room: string): KnownSurvivor[] {
  const path = fileURLToPath(new URL(`survivors/${room}.json`, import.meta.url))
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

export const survivorKey = ({ file, from, to }: Pick<KnownSurvivor, 'file' | 'from' | 'to'>): string =>
  JSON.stringify([file, from, to])

export const isEquivalent = ({ reason }: KnownSurvivor): boolean => reason.startsWith('equivalent:')

/** Entries that name no mutant of the files that were mutated: their lines have changed since. */
export function outdatedSurvivors(known: readonly KnownSurvivor[], mutants: readonly Mutant[]): KnownSurvivor[] {
  const files = new Set(mutants.map(({ file }) => file))
  const keys = new Set(mutants.map(survivorKey))
  return known.filter((survivor) => files.has(survivor.file) && !keys.has(survivorKey(survivor)))
}
