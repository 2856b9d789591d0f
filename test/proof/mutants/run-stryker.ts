import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { type Mutant, mutantsOf } from './mutant.ts'

export type StrykerRun = {
  readonly root: string
  /** Names the files of the run within the state folder. */
  readonly name: string
  readonly sources: readonly string[]
  readonly tests: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly stateFolder: string
  print(line: string): void
}

/**
 * Runs Stryker as a child, unless its report of the same sources and tests is there. Where some have changed, results that still hold
 * are taken from the run before.
 */
export async function runStryker(run: StrykerRun): Promise<Mutant[]> {
  await mkdir(run.stateFolder, { recursive: true })
  const place = (kind: string) => join(run.stateFolder, `${run.name}-${kind}.json`)
  const digest = await digestOfFiles(
    run.root,
    [...run.sources, ...run.tests].toSorted(),
    run.environment['SIMULATION_WORLDS'] ?? '',
  )
  if ((await digestOfReport(run)) !== digest) {
    await writeFile(place('config'), `${JSON.stringify(strykerOptions(run, place('report')), undefined, 2)}\n`)
    const exitCode = await strykerEnds(run, place('config'))
    if (exitCode !== 0) throw new Error(`run Stryker on ${run.name}: it ended with ${exitCode}; its lines are above`)
    await writeFile(place('digest'), JSON.stringify(digest))
  }
  return mutantsOf(JSON.parse(await readFile(place('report'), 'utf8')))
}

/** A digest of the sources and tests that the report of a run is about; undefined without a report. */
export const digestOfReport = ({ stateFolder, name }: Pick<StrykerRun, 'stateFolder' | 'name'>) =>
  readFile(join(stateFolder, `${name}-digest.json`), 'utf8').then(
    (text): unknown => JSON.parse(text),
    () => undefined,
  )

async function digestOfFiles(root: string, files: readonly string[], before: string): Promise<string> {
  const hash = createHash('sha256').update(before)
  for (const file of files) hash.update(file).update(await readFile(join(root, file)))
  return hash.digest('hex').slice(0, 12)
}

function strykerOptions({ name, sources, tests, stateFolder }: StrykerRun, reportFile: string): object {
  return {
    testRunner: 'vitest',
    // `related` would leave out tests that reach the file only through a child process or a worker.
    vitest: { configFile: 'test/proof/mutants/vitest.config.ts', related: false },
    coverageAnalysis: 'perTest',
    // A constant of a module is computed when the module is loaded, once for all mutants of a process: its mutants seem to live.
    ignoreStatic: true,
    mutate: sources,
    testFiles: tests,
    // Stryker rewrites the tsconfig by the API of TypeScript 6, which TypeScript 7 does not have. No such file: nothing to rewrite.
    tsconfigFile: 'no-tsconfig.json',
    incremental: true,
    incrementalFile: join(stateFolder, `${name}-incremental.json`),
    reporters: ['json'],
    jsonReporter: { fileName: reportFile },
    tempDirName: '.vitest/mutants',
    ignorePatterns: ['.proof', '.vitest', '.vitalsync', 'dist', 'coverage'],
    concurrency: Math.min(2, availableParallelism()),
    // An endless loop through the mutant ends by Stryker's count of its passes. The time is for other loops, and a busy machine is slow.
    timeoutMS: 30_000,
    timeoutFactor: 4,
    allowConsoleColors: false,
  }
}

const strykerEnds = ({ root, environment, print }: StrykerRun, configFile: string): Promise<number | null> =>
  new Promise((resolve, reject) => {
    const stryker = join(root, 'node_modules/@stryker-mutator/core/bin/stryker.js')
    const child = spawn(process.execPath, [stryker, 'run', configFile], {
      cwd: root,
      env: { ...process.env, ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    child.stdout.setEncoding('utf8')
    child.stdout.on('data', (text: string) => {
      for (const line of text.split('\n'))
        if (/\S/.test(line) && !/ INFO (?!DryRun|Instrumenter)/.test(line)) print(`  ${line.trimEnd()}`)
    })
    child.once('error', reject)
    child.once('close', resolve)
  })

/**
 * A hash of the files whose changes Stryker does not see: those that neither are mutated nor hold tests. A result is reused only
 * while it is the same.
 */
export async function surroundingsHash(root: string): Promise<string> {
  const files = globSync(['{src,jobs,config,test}/**/*.{ts,tsx,mjs,json,sql}', 'package-lock.json'], { cwd: root })
  const surrounding = files.filter((file) => !/\.test\.ts$|^test\/proof\//.test(file))
  return digestOfFiles(root, surrounding.toSorted(), '')
}
