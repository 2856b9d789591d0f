import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Mutant, mutatedText } from './mutant.ts'

/**
 * Mutants that compile. A mutant that the compiler refuses could never be committed, so it says nothing about the tests. Each mutant
 * becomes a copy of its file in a copy of the checkout, and one run of the compiler checks all copies. Where a mutant changes the
 * declarations of its file, a file that imports it may be the one that does not compile: such a mutant is checked with the whole
 * program.
 */
export async function compilingMutants(root: string, mutants: readonly Mutant[], folder: string): Promise<Mutant[]> {
  if (mutants.length === 0) return []
  await copyCheckout(root, folder)
  const copies = await writeCopies(folder, mutants)
  const declarations = join(folder, 'declarations')
  const options = { noEmit: false, declaration: true, emitDeclarationOnly: true, outDir: declarations, rootDir: '.' }
  const files = [...new Set([...mutants.map(({ file }) => file), ...copies.map(({ copy }) => copy)])]
  const refused = filesWithErrors(await compile(folder, { compilerOptions: options, files, include: [] }))
  const compiling: Mutant[] = []
  for (const { mutant, copy } of copies) {
    if (refused.has(copy)) continue
    const [before, after] = await Promise.all([mutant.file, copy].map((file) => declarationsOf(declarations, file)))
    if (before === after || (await compilesWithAll(folder, mutant))) compiling.push(mutant)
  }
  return compiling
}

const checked = ['src', 'jobs', 'config', 'test'] as const

async function copyCheckout(root: string, folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  for (const part of [...checked, 'tsconfig.json', 'package.json'])
    await cp(join(root, part), join(folder, part), { recursive: true })
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
}

type Copy = { readonly mutant: Mutant; readonly copy: string }

const writeCopies = (folder: string, mutants: readonly Mutant[]): Promise<Copy[]> =>
  Promise.all(
    mutants.map(async (mutant, index) => {
      const copy = mutant.file.replace(/\.(tsx?)$/, `.mutant-${index}.$1`)
      await writeFile(join(folder, copy), mutatedText(await readFile(join(folder, mutant.file), 'utf8'), mutant))
      return { mutant, copy }
    }),
  )

async function compilesWithAll(folder: string, mutant: Mutant): Promise<boolean> {
  const path = join(folder, mutant.file)
  const source = await readFile(path, 'utf8')
  await writeFile(path, mutatedText(source, mutant))
  const exclude = ['src/**/browser', 'test/browser', '**/*.mutant-*']
  const errors = filesWithErrors(await compile(folder, { include: [...checked], exclude }))
  await writeFile(path, source)
  return errors.size === 0
}

/** Gives what the compiler prints. It ends with an exit code where there are errors. */
async function compile(folder: string, settings: object): Promise<string> {
  await writeFile(
    join(folder, 'tsconfig.mutants.json'),
    JSON.stringify({ extends: './tsconfig.json', exclude: [], ...settings }),
  )
  const compiler = join(folder, 'node_modules/typescript-compiler/bin/tsc')
  return new Promise((resolve, reject) => {
    const options = { cwd: folder, maxBuffer: 64 * 1024 * 1024 }
    execFile(process.execPath, [compiler, '-p', 'tsconfig.mutants.json'], options, (error, stdout, stderr) => {
      if (error && typeof error.code !== 'number') return reject(error)
      if (error && !stdout.includes('error TS')) return reject(new Error(`run the compiler: ${stderr}${stdout}`))
      resolve(stdout)
    })
  })
}

/** Files with an error. An error of the settings has no file, and would make every mutant seem to compile. */
function filesWithErrors(output: string): Set<string> {
  const errors = output.split('\n').filter((line) => line.includes('error TS'))
  const strange = errors.find((line) => !/^[^\s(]+\(\d+,\d+\): error/.test(line))
  if (strange !== undefined) throw new Error(`run the compiler: ${strange}`)
  return new Set(errors.map((line) => line.slice(0, line.indexOf('('))))
}

/** Copies have other names, so a declaration file is compared without the name of its source map. */
const declarationsOf = (folder: string, file: string): Promise<string> =>
  readFile(join(folder, file.replace(/\.(tsx?)$/, '.d.ts')), 'utf8')
