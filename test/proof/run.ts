/**
 * Proves the promises by machine, part by part, and writes docs/why/proof.md.
 *
 *   npm run proof                      every part, whole; says how long it takes, continues after an interruption
 *   npm run proof -- --short           a sample of every part, as in .ci/run; writes nothing
 *   npm run proof -- --only stories    one part; may be given several times
 *   npm run proof -- --hours 2         how long parts search that have no end of their own
 *   npm run proof -- --seed 7          the sample and the plan of faults that this number chooses
 *   npm run proof -- --page            the page alone, from the results that are there
 *   npm run proof -- --only sql-mutants --tests test/…/outbox.test.ts
 *                                      decides again which mutants of SQL this file kills, after a change of it or of its
 *                                      statements; writes killers.json alone
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { DAY } from '../../src/base/time/units.ts'
import { conditions, readResults, writeResult } from './kept-results.ts'
import { pageOf } from './page.ts'
import type { ProofPart, ProofResult } from './part.ts'
import { parts } from './parts.ts'

const stateRoot = new URL('../../.proof/', import.meta.url)
const page = new URL('../../docs/why/proof.md', import.meta.url)
const print = (line: string) => void process.stdout.write(`${line}\n`)

const { values } = readArguments()
const unknown = values.only?.filter((name) => !parts.some((part) => part.name === name)) ?? []
/** Such a run has no figures for the page. */
const isPartial = values.short || values.tests !== undefined
const numbers = [values.hours ?? '1', values.seed].map(Number)
if (unknown.length > 0)
  end(`no part is called ${unknown.join(', ')}: there are ${parts.map(({ name }) => name).join(', ')}`)
else if (!numbers.every((number) => Number.isFinite(number) && number >= 0))
  end('--hours and --seed want a number, such as 2')
else if (values.tests && values.only?.join() !== 'sql-mutants') end('--tests goes with --only sql-mutants')
else if (!values.page) await proveAll(chosenParts())
if (!isPartial && process.exitCode !== 2) writeFileSync(page, pageOf(parts, readResults()))

function readArguments() {
  try {
    return parseArgs({
      options: {
        short: { type: 'boolean', default: false },
        page: { type: 'boolean', default: false },
        only: { type: 'string', multiple: true },
        hours: { type: 'string' },
        tests: { type: 'string', multiple: true },
        seed: { type: 'string', default: String(dayOfEpoch()) },
      },
    })
  } catch (error) {
    end(
      `${error instanceof Error ? error.message : error}\nThere are --short, --only PART, --hours N, --seed N, --tests FILE and --page.`,
    )
    process.exit()
  }
}

/** Without --only, a part that holds for this very commit already is not run again: this is how an interrupted proof continues. */
function chosenParts(): ProofPart[] {
  if (values.only) return parts.filter(({ name }) => values.only?.includes(name))
  const { commit } = conditions()
  const done = values.short ? [] : readResults().filter((result) => result.holds && result.commit === commit)
  return parts.filter(({ name }) => !done.some((result) => result.name === name))
}

async function proveAll(chosen: readonly ProofPart[]): Promise<void> {
  const form = values.short ? 'short' : 'whole'
  const minutes = chosen.reduce((sum, part) => sum + part.minutes[form], 0)
  const length = values.tests ? 'some minutes' : `about ${minutes} minutes`
  print(`${chosen.map(({ name }) => name).join(', ')}: ${length} on two quiet cores, seed ${values.seed}`)
  for (const part of chosen) {
    const result = await prove(part)
    if (!result.holds) process.exitCode = 1
  }
  print(process.exitCode ? 'The proof does not hold: see above.' : 'All parts hold.')
}

async function prove(part: ProofPart): Promise<ProofResult> {
  print(`\n== ${part.name}: ${part.checks}`)
  const began = performance.now()
  const stateFolder = fileURLToPath(new URL(`${part.name}/`, stateRoot))
  mkdirSync(stateFolder, { recursive: true })
  const hours = values.hours === undefined ? undefined : Number(values.hours)
  const seed = Number(values.seed)
  const result = await part.run({ short: values.short, hours, seed, tests: values.tests, stateFolder, print })
  const minutes = Math.round((performance.now() - began) / 6000) / 10
  for (const { title, columns, rows } of result.tables) {
    print(`${title}\n  ${columns.join(' · ')}`)
    for (const row of rows) print(`  ${row.join(' · ')}`)
  }
  print(`${part.name}: ${result.holds ? 'holds' : 'does not hold'} after ${minutes} minutes`)
  const { name, checks, promises } = part
  if (isPartial) return result
  const allMinutes = minutesOfPieces(stateFolder, { minutes, isLast: result.holds })
  writeResult({ name, checks, promises, seed, minutes: allMinutes, ...conditions(), ...result })
  return result
}

/** A run that continues others has taken the time of all of them. */
function minutesOfPieces(stateFolder: string, { minutes, isLast }: { minutes: number; isLast: boolean }): number {
  const file = join(stateFolder, 'minutes')
  const before = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0
  const sum = Math.round(10 * (before + minutes)) / 10
  if (isLast) rmSync(file, { force: true })
  else writeFileSync(file, String(sum))
  return sum
}

/** The seed of a day: every day another sample, and the same one for everybody on that day. */
function dayOfEpoch(): number {
  return Math.floor(Date.now() / DAY)
}

function end(message: string): void {
  process.stderr.write(`proof: ${message}\n`)
  process.exitCode = 2
}
