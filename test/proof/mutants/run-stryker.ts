import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { globSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { reachedFiles } from '../../../config/pure-tests.ts'
import { type Mutant, mutantsOf } from './mutant.ts'

export type StrykerRun = {
  readonly root: string
  /** Names the files of the run within the state folder. */
  readonly name: string
  readonly sources: readonly string[]
  readonly tests: readonly string[]
  /** The tests start engines. */
  readonly engines: boolean
  /** A test that waits longer than a few seconds has lost its answer. */
  readonly waits: boolean
  readonly environment: Readonly<Record<string, string>>
  readonly stateFolder: string
  print(line: string): void
}

/**
 * Runs Stryker as a child, unless its report of the same sources and tests is there. Where some have changed, results that still hold
 * are taken from the run before; where a file around them has, which Stryker does not see, none are.
 */
export async function runStryker(run: StrykerRun): Promise<Mutant[]> {
  await mkdir(run.stateFolder, { recursive: true })
  const place = (kind: string) => join(run.stateFolder, `${run.name}-${kind}.json`)
  const digest = await digestOf(run)
  const known = await digestOfReport(run)
  if (known?.own !== digest.own || known.around !== digest.around) {
    if (known?.around !== digest.around) await rm(place('incremental'), { force: true })
    await writeFile(place('config'), `${JSON.stringify(strykerOptions(run, place('report')), undefined, 2)}\n`)
    const exitCode = await strykerEnds(run, place('config'))
    if (exitCode !== 0) throw new Error(`run Stryker on ${run.name}: it ended with ${exitCode}; its lines are above`)
    await writeFile(place('digest'), JSON.stringify(digest))
  }
  return mutantsOf(JSON.parse(await readFile(place('report'), 'utf8')))
}

/** `own`: of the sources and tests. `around`: of the other files that the tests reach. */
export type Digest = { readonly own: string; readonly around: string }

/** The digest of the run whose report is there; undefined without a report. */
const digestOfReport = ({ stateFolder, name }: Pick<StrykerRun, 'stateFolder' | 'name'>) =>
  readFile(join(stateFolder, `${name}-digest.json`), 'utf8').then(
    (text): Digest => JSON.parse(text),
    () => undefined,
  )

export async function digestOf({
  root,
  sources,
  tests,
  waits,
  environment,
}: Omit<StrykerRun, 'print'>): Promise<Digest> {
  const own = [...sources, ...tests].toSorted()
  const settings = ['test/proof/mutants/fixed-seeds.ts', ...configs.slice(0, waits ? 2 : 1)]
  const all = globSync('{src,jobs,config,test}/**/*.{ts,tsx,mjs,json,sql}', { cwd: root })
  const reached = new Set(reachedFiles(root, [...own, ...settings]))
  // Which file reads a list or a statement is not followed.
  const around = all.filter((file) => (reached.has(file) || /\.(json|sql)$/.test(file)) && !own.includes(file))
  const surrounding = around.filter((file) => !/\.test\.ts$|^test\/proof\//.test(file))
  return {
    own: await digestOfFiles(root, own, environment['SIMULATION_WORLDS'] ?? ''),
    around: await digestOfFiles(root, [...surrounding, ...settings, 'package-lock.json'].toSorted(), ''),
  }
}

/** The second extends the first. */
const configs = ['test/proof/mutants/vitest.config.ts', 'test/proof/mutants/waiting.config.ts'] as const

async function digestOfFiles(root: string, files: readonly string[], before: string): Promise<string> {
  const hash = createHash('sha256').update(before)
  for (const file of files) hash.update(file).update(await readFile(join(root, file)))
  return hash.digest('hex').slice(0, 12)
}

function strykerOptions({ name, sources, tests, engines, waits, stateFolder }: StrykerRun, reportFile: string): object {
  return {
    testRunner: 'vitest',
    // `related` would leave out tests that reach the file only through a child process or a worker.
    vitest: { configFile: waits ? configs[1] : configs[0], related: false },
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
    timeoutMS: engines ? 30_000 : 5_000,
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
