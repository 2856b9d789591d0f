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

/** Runs Stryker as a child. Results that still hold are taken from the run before: Stryker compares sources and test files. */
export async function runStryker(run: StrykerRun): Promise<Mutant[]> {
  await mkdir(run.stateFolder, { recursive: true })
  const [configFile, reportFile] = ['config', 'report'].map((kind) => join(run.stateFolder, `${run.name}-${kind}.json`))
  await writeFile(`${configFile}`, `${JSON.stringify(strykerOptions(run, `${reportFile}`), undefined, 2)}\n`)
  const exitCode = await strykerEnds(run, `${configFile}`)
  if (exitCode !== 0) throw new Error(`run Stryker on ${run.name}: it ended with ${exitCode}; its lines are above`)
  return mutantsOf(JSON.parse(await readFile(`${reportFile}`, 'utf8')))
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
    ignorePatterns: ['.vitest', '.vitalsync', 'dist', 'coverage'],
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
  const hash = createHash('sha256')
  for (const file of files.toSorted()) {
    if (/\.test\.ts$|^test\/proof\//.test(file)) continue
    hash.update(file).update(await readFile(join(root, file)))
  }
  return hash.digest('hex').slice(0, 12)
}
