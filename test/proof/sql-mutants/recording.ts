import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pureTests } from '../../../config/pure-tests.ts'
import type { RecordedStatement } from './exchange-statements.ts'
import { readLines } from './json-lines.ts'
import type { Mutant } from './mutants.ts'
import { ended, root, startTests } from './run-tests.ts'

/** A test that was run as it is. */
export type RecordedTest = { readonly file: string; readonly test: string; readonly state: string; readonly ms: number }
export type EndedFile = { readonly file: string }
/** Which test sends which statement. */
export type Recording = {
  readonly statements: readonly RecordedStatement[]
  readonly tests: readonly RecordedTest[]
  /** The files whose tests have all ended. */
  readonly files: readonly string[]
  readonly isWhole: boolean
}
type FileRecording = Pick<Recording, 'statements' | 'tests'>

/** Tests that run the product in their own process and ask a database. The derivation itself asks none. */
const recordedFolders = '{,*/}{warehouse,work,schedule,promises,operations,upstream,service}'
const leftOut = /\/(service\/(derive|evaluate|sandbox)\/|service\/fuzz|pipeline\/upstream\/(?!token)|promises\/17)/

export function recordedFiles(): string[] {
  const pure = new Set(pureTests(root))
  return globSync(`test/${recordedFolders}/**/*.test.ts`, { cwd: root })
    .filter((file) => !leftOut.test(file) && !pure.has(file))
    .toSorted()
}

/**
 * Runs these files once, at most `filesMax` of those that are missing. A file that was run before, and has not changed since, nor the
 * product, is not run again.
 */
export async function recordStatements(
  files: readonly string[],
  { stateFolder, filesMax }: { stateFolder: string; filesMax: number },
): Promise<Recording> {
  const placeOf = placesOfRecordings(join(stateFolder, 'recordings'))
  const run = join(stateFolder, 'recording')
  keepRecordings(run, placeOf)
  const missing = files.filter((file) => !existsSync(placeOf(file))).slice(0, filesMax)
  if (missing.length > 0) {
    mkdirSync(run, { recursive: true })
    const [record, tests, endedFiles] = placesOfRun(run)
    const environment = { SQL_RECORD: record, SQL_TESTS: tests, SQL_ENDED: endedFiles, SQL_WORKERS: '2' }
    await ended(startTests(missing, environment))
    keepRecordings(run, placeOf)
  }
  const recorded = files.filter((file) => existsSync(placeOf(file)))
  const recordings = recorded.map((file) => readRecording(placeOf(file)))
  return {
    statements: recordings.flatMap(({ statements }) => statements),
    tests: recordings.flatMap(({ tests }) => tests),
    files: recorded,
    isWhole: recorded.length === files.length,
  }
}

const readRecording = (place: string): FileRecording => JSON.parse(readFileSync(place, 'utf8'))

const placesOfRun = (run: string): [string, string, string] => [
  join(run, 'statements.ndjson'),
  join(run, 'tests.ndjson'),
  join(run, 'ended.ndjson'),
]

/** Keeps what a run recorded, interrupted or not: of each file whose tests have all ended. */
function keepRecordings(run: string, placeOf: (file: string) => string): void {
  const [record, testsFile, endedFiles] = placesOfRun(run)
  const statements = Map.groupBy(readLines<RecordedStatement>(record), ({ file }) => file)
  const tests = Map.groupBy(readLines<RecordedTest>(testsFile), ({ file }) => file)
  for (const { file } of readLines<EndedFile>(endedFiles)) {
    const recording: FileRecording = { statements: statements.get(file) ?? [], tests: tests.get(file) ?? [] }
    writeFileSync(placeOf(file.slice(root.length + 1)), JSON.stringify(recording))
  }
  rmSync(run, { recursive: true, force: true })
}

/** A recording lies under a digest of its file and of all that the file runs. */
function placesOfRecordings(folder: string): (file: string) => string {
  mkdirSync(folder, { recursive: true })
  const sources = digestOfFiles(globSync('{src,jobs,config,test/support}/**/*.{ts,sql}', { cwd: root }).toSorted())
  return (file) => join(folder, `${file.replaceAll('/', '-')}-${digestOfFiles([file], sources)}.json`)
}

function digestOfFiles(files: readonly string[], before = ''): string {
  const digest = createHash('sha256').update(before)
  for (const file of files) digest.update(file).update(readFileSync(join(root, file)))
  return digest.digest('hex').slice(0, 16)
}

/** A play is that of a mutant against a version of a file of tests: texts that other files send do not change it. */
export function digestOfPlay(): (mutant: Pick<Mutant, 'exchanges'>, file: string) => string {
  const files = new Map<string, string>()
  return ({ exchanges }, file) => {
    const known = files.get(file) ?? digestOfFiles([file.slice(root.length + 1)])
    files.set(file, known)
    const own = exchanges.filter(({ files: senders }) => senders.includes(file)).map(({ from, to }) => [from, to])
    return createHash('sha256').update(known).update(JSON.stringify(own.toSorted())).digest('hex').slice(0, 16)
  }
}
