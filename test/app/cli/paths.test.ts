import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../../../config/env.ts'
import { describeError } from '../../../src/app/cli/describe-error.ts'
import { createProgram } from '../../../src/app/cli/program.ts'
import { createTerminal } from '../../../src/app/terminal/terminal.ts'
import { createLog } from '../../../src/base/log.ts'
import { type CommandWorld, openCommandWorld } from '../commands/command-world.ts'
import { commandsOf, tree } from './reference.ts'

/** Gives each argument, option and variable that takes a path every path that cannot be used. */
const timeout = 300_000
let world: CommandWorld

beforeAll(async () => {
  world = await openCommandWorld({ profiles: 0, days: 1 })
  const { folder } = world
  await chmod(folder, 0o755)
  await mkdir(join(folder, 'folder'))
  await mkdir(join(folder, 'closed'))
  await chmod(join(folder, 'closed'), 0)
  await symlink('loop', join(folder, 'loop'))
  await writeFile(join(folder, 'file'), 'no JSON\n')
  await writeFile(join(folder, 'bad.ndjson'), 'no JSON\n')
  await writeFile(join(folder, 'empty.har'), '{"log":{"entries":[]}}')
}, timeout)
afterAll(async () => {
  await chmod(join(world.folder, 'closed'), 0o700)
  await world.close()
}, timeout)

const long = 'x'.repeat(300)
const circle = 'its symbolic links lead in a circle'
const nothing = 'there is no such file or folder'
const faults = {
  'file/below': 'a part of its path is no folder',
  [long]: 'the name is too long',
  'closed/below': 'permission denied for this user',
}
/** The paths of a use that it refuses, and the words for it. */
const uses = {
  input: { ...faults, 'none/below': nothing, folder: 'it is a folder', loop: circle },
  inputOrFolder: { ...faults, 'none/below': nothing, loop: circle },
  output: {
    ...faults,
    'none/below': nothing,
    folder: 'it is a folder',
    loop: `it is a symbolic link|${circle}`,
  },
  folder: { ...faults, file: 'there is a file of this name', loop: `${circle}|there is a file of this name` },
}

type PathUse = { readonly use: keyof typeof uses; words(path: string): string[]; readonly variable?: string }
const rows = ['export', '--stream', 'scores']

const paths: Readonly<Record<string, PathUse>> = {
  'backfill --profiles-from': {
    use: 'input',
    words: (path) => ['backfill', '--from', '2026-01-01', '--profiles-from', path],
  },
  'doctor --compare': { use: 'input', words: (path) => ['doctor', '--contract', '--compare', path] },
  'doctor --save': { use: 'output', words: (path) => ['doctor', '--contract', '--save', path] },
  'evaluate <file>': { use: 'input', words: (path) => ['evaluate', path] },
  'export --output': { use: 'output', words: (path) => [...rows, '--output', path] },
  'export --output, renamed': { use: 'output', words: (path) => [...rows, '--format', 'parquet', '--output', path] },
  'export --output, by month': {
    use: 'folder',
    words: (path) => [...rows, '--format', 'parquet', '--partition-by', 'month', '--output', path],
  },
  'export --state': { use: 'output', words: (path) => [...rows, '--output', inWorld('out.ndjson'), '--state', path] },
  'har clean <file>': { use: 'input', words: (path) => ['har', 'clean', path] },
  'har clean --output': { use: 'output', words: (path) => ['har', 'clean', inWorld('empty.har'), '--output', path] },
  'import <what>': { use: 'inputOrFolder', words: (path) => ['import', path, '--profile', 'ada'] },
  'import <file>': { use: 'input', words: (path) => ['import', 'tags', path] },
  'import --rejects': {
    use: 'output',
    words: (path) => ['import', 'tags', inWorld('bad.ndjson'), '--again', '--rejects', path],
  },
  'profiles import <file>': { use: 'input', words: (path) => ['profiles', 'import', path] },
  'profiles import --rejects': {
    use: 'output',
    words: (path) => ['profiles', 'import', inWorld('bad.ndjson'), '--rejects', path],
  },
  'sandbox people --output': { use: 'folder', words: (path) => ['sandbox', 'people', '--days', '1', '--output', path] },
  'sandbox planned --output': { use: 'folder', words: (path) => ['sandbox', 'planned', '--output', path] },
  'sandbox replay <file>': { use: 'input', words: (path) => ['sandbox', 'replay', path] },
  DASHBOARD_PASSWORD_FILE: { use: 'input', words: () => ['dashboard', '--port', '0'], variable: 'the path' },
  VITALSYNC_DATA: { use: 'folder', words: () => ['dashboard', '--port', '0', '--draw-password'], variable: 'the path' },
}

const inWorld = (name: string) => join(world.folder, name)

test('every argument and option that takes a path is here', () => {
  const taking = commandsOf(tree()).flatMap(({ name, command }) => [
    ...command.options.flatMap(({ flags, long: option }) => (/<(file|folder)>/.test(flags) ? `${name} ${option}` : [])),
    ...command.registeredArguments.flatMap((argument) =>
      /^(file|folder|what)$/.test(argument.name()) ? `${name} <${argument.name()}>` : [],
    ),
  ])
  const here = Object.keys(paths).filter((name) => !/^[A-Z_]+$|,/.test(name))
  expect(here.toSorted()).toEqual(taking.toSorted())
})

test.for(Object.entries(paths))(
  '%s: a path that cannot be used is named, in words, with the cure',
  { timeout },
  async ([name, { use, words, variable }]) => {
    for (const [path, reason] of Object.entries(uses[use])) {
      const given = inWorld(path)
      const { text, hint, code } = await endOf(words(given), variable === undefined ? {} : { [name]: given }, path)

      expect(text, path).toMatch(new RegExp(`^[a-z ]+ .+: (${reason})$`))
      expect(text).toContain(variable === undefined || use === 'folder' ? inWorld(path.replace('/below', '')) : name)
      expect(text).not.toMatch(/\bE[A-Z]{3,}\b/)
      expect(hint, path).toMatch(/\S/)
      expect(code, path).toBe(2)
    }
  },
)

/** How the command ends, in this process: as an ordinary user where the path is closed to them. */
async function endOf(words: readonly string[], more: Readonly<Record<string, string>>, path: string) {
  const context = ({ json }: { json: boolean }) => ({
    config: readConfig({ ...world.env, ...more }),
    terminal: { ...createTerminal({ json, term: 'dumb' }), print: () => undefined, say: () => undefined },
    log: createLog({ level: 'silent' }),
    signal: AbortSignal.timeout(timeout),
  })
  const unused = () => {
    throw new Error('no command of paths uses it')
  }
  const program = createProgram({ context, uncheckedContext: unused, print: unused, exit: unused })
  const isRoot = process.geteuid?.() === 0
  if (isRoot && path.startsWith('closed')) process.seteuid?.(65_534)
  try {
    await program.parseAsync(words, { from: 'user' })
    throw new Error(`vitalsync ${words.join(' ')} ended well`)
  } catch (error) {
    return await describeError(error)
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}
