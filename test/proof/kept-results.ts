import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { ProofPart, ProofResult } from './part.ts'

const folder = new URL('results/', import.meta.url)

/** The last whole run of a part, with the conditions under which its figures were measured. */
export type KeptResult = ProofResult &
  Pick<ProofPart, 'name' | 'checks' | 'promises'> & {
    date: string
    commit: string
    seed: number
    minutes: number
    machine: string
  }

export function readResults(): KeptResult[] {
  mkdirSync(folder, { recursive: true })
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'))
  return names.sort().map((name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8')))
}

export function writeResult(result: KeptResult): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(new URL(`${result.name}.json`, folder), `${JSON.stringify(result, null, 2)}\n`)
}
