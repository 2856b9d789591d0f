import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { ProofPart, ProofResult } from './part.ts'

const folder = new URL('results/', import.meta.url)

/** The last whole run of a part that held, or the last one while none has, with the conditions under which its figures were measured. */
export type KeptResult = ProofResult &
  Pick<ProofPart, 'name' | 'checks' | 'promises'> & {
    date: string
    commit: string
    seed: number
    minutes: number
    machine: string
  }

export function conditions(): Pick<KeptResult, 'date' | 'commit' | 'machine'> {
  const root = fileURLToPath(new URL('../../', import.meta.url))
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
  const machine = `${cpus().length} cores, Node ${process.versions.node}`
  return { date: new Date().toISOString().slice(0, 10), commit, machine }
}

export function readResults(): KeptResult[] {
  mkdirSync(folder, { recursive: true })
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'))
  return names.sort().map((name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8')))
}

/** A run that does not hold, as one that was cut, replaces none that held. */
export function writeResult(result: KeptResult): void {
  mkdirSync(folder, { recursive: true })
  if (!result.holds && readResults().some(({ name, holds }) => holds && name === result.name)) return
  writeFileSync(new URL(`${result.name}.json`, folder), `${JSON.stringify(result, null, 2)}\n`)
}
