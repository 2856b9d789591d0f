import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Command, Option } from 'commander'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CommandWorld, openCommandWorld } from '../commands/command-world.ts'
import { parserMessageOf } from './parsing.ts'
import { commandsOf, tree } from './reference.ts'

/**
 * Gives a wrong value to every option and every argument of every command, as the program declares them: a new option must
 * check its value, or be listed here.
 */
const timeout = 300_000
const nobody = 'nobody-here'
let world: CommandWorld

beforeAll(async () => {
  world = await openCommandWorld({ profiles: 1, days: 2 })
  await world.json('profiles', 'discover')
}, timeout)
afterAll(() => world.close(), timeout)

const commands = commandsOf(tree())
const argumentsOf = (command: Command) => command.registeredArguments.map((argument) => argument.argChoices?.[0] ?? '1')
/** The required options, with valid values. */
const mandatoryOf = (command: Command) =>
  command.options
    .filter(({ mandatory, defaultValue }) => mandatory && defaultValue === undefined)
    .flatMap((option) => [longOf(option), '2026-01-01'])
const longOf = ({ long }: Option) => long ?? ''

const gathers = new Set(['--profile', '--fault'])
const isPicky = (option: Option) =>
  option.argChoices !== undefined || (option.parseArg !== undefined && !gathers.has(longOf(option)))

/** Options and arguments that accept any text. */
const anyText: Readonly<Record<string, string>> = {
  'sandbox --seed': 'chance is made of any words',
  'sandbox people --seed': 'chance is made of any words',
  'sandbox planned --seed': 'chance is made of any words',
  'columns drop <name>': 'where no column has the name, there is nothing to do',
  'failures list --reason': 'looked for in the reasons',
  'failures retry --reason': 'looked for in the reasons',
  'failures discard --reason': 'looked for in the reasons',
  'profiles discover --search': 'looked for upstream',
  'doctor --profile': 'looked for upstream',
  'service keys create --account': 'made when there is none of this name',
  'service keys create --label': 'for people only',
  'service sources <source>': 'as logs name them, and those of tomorrow too',
}

type Wrong = { words: readonly string[]; code?: number; says: RegExp }

/** Values that only the warehouse, the file system or a server can refuse. */
const wrongInTheWorld = (): Record<string, Wrong> => {
  const range = ['--from', '2026-01-01']
  const noFolder = '/no/such/folder/file'
  const unknown = /profiles: 1 of 1 are not known here/
  return {
    'doctor --compare': {
      words: ['doctor', '--contract', '--compare', 'none.json'],
      says: /none\.json: there is no such file/,
    },
    'doctor --save': {
      words: ['doctor', '--contract', '--save', noFolder],
      says: /no such file or folder/,
    },
    'sync --profile': { words: ['sync', '--profile', nobody], says: unknown },
    'plan --profile': { words: ['plan', '--profile', nobody], says: unknown },
    'backfill --profile': { words: ['backfill', ...range, '--profile', nobody], says: unknown },
    'backfill --profiles-from': {
      words: ['backfill', ...range, '--profiles-from', 'none.csv'],
      says: /none\.csv: there is no such file/,
    },
    'verify --profile': { words: ['verify', '--profile', nobody], says: unknown },
    'sql <statement>': { words: ['sql', ' '], says: /there is none/ },
    'grant-reader <role>': { words: ['grant-reader', 'pg_nobody'], says: /pg_nobody.* is reserved/ },
    'why --profile': { words: ['why', '--profile', nobody, '--date', '2026-01-01'], says: unknown },
    'gaps --profile': { words: ['gaps', '--profile', nobody], says: unknown },
    'explain --profile': {
      words: ['explain', '--profile', nobody, '--date', '2026-01-01'],
      says: /no such profile/,
    },
    'evaluate <file>': { words: ['evaluate', 'none.csv'], says: /none\.csv: there is no such file/ },
    'evaluate --account': {
      words: ['evaluate', 'figures.csv', '--account', 'nobody'],
      says: /the tables of the Profile Service by vitalsync service/,
    },
    'runs stop <run>': { words: ['runs', 'stop', '999999'], says: /no run has this id/ },
    'failures list --profile': { words: ['failures', 'list', '--profile', nobody], says: unknown },
    'failures retry --profile': { words: ['failures', 'retry', '--profile', nobody], says: unknown },
    'failures discard --profile': { words: ['failures', 'discard', '--profile', nobody], says: unknown },
    'quarantine list --profile': { words: ['quarantine', 'list', '--profile', nobody], says: unknown },
    'quarantine replay --profile': { words: ['quarantine', 'replay', '--profile', nobody], says: unknown },
    'quarantine discard --profile': { words: ['quarantine', 'discard', '--profile', nobody], says: unknown },
    'profiles import --rejects': {
      words: ['profiles', 'import', 'bad.ndjson', '--rejects', noFolder],
      says: /no\/such\/folder/,
    },
    'import --rejects': { words: ['import', 'tags', 'bad.ndjson', '--rejects', noFolder], says: /no\/such\/folder/ },
    'export --output': { words: ['export', '--stream', 'scores', '--output', noFolder], says: /no\/such\/folder/ },
    'export --state': {
      words: ['export', '--stream', 'scores', '--output', 'out.ndjson', '--state', noFolder],
      says: /no\/such\/folder/,
    },
    'sandbox --host': { words: ['sandbox', '--host', 'no such host', '--profiles', '0'], says: /no such host/ },
    'sandbox --fault': { words: ['sandbox', '--fault', 'nothing=1'], says: /nothing/ },
    'sandbox people --output': {
      words: ['sandbox', 'people', '--days', '1', '--output', '/dev/null/folder'],
      says: /folder: a part of its path is no folder/,
    },
    'sandbox planned --output': {
      words: ['sandbox', 'planned', '--people', '1', '--days', '1', '--output', '/dev/null/folder'],
      says: /folder: a part of its path is no folder/,
    },
    'sandbox replay <file>': { words: ['sandbox', 'replay', 'none.har'], says: /none\.har: .*no such file/ },
    'har clean <file>': { words: ['har', 'clean', 'figures.csv'], says: /figures\.csv: the file is no HTTP archive/ },
    'har clean --output': { words: ['har', 'clean', 'empty.har', '--output', noFolder], says: /no\/such\/folder/ },
    'columns add <name>': {
      words: ['columns', 'add', 'scores', 'No Name', '$.a'],
      says: /"No Name" cannot be its name/,
    },
    'columns add <path>': { words: ['columns', 'add', 'scores', 'a', 'a'], says: /"a" is not a path/ },
    'dashboard --host': {
      words: ['dashboard', '--host', 'no such host', '--port', '0'],
      says: /DASHBOARD_PASSWORD_FILE/,
    },
    'dashboard password <name>': {
      words: ['dashboard', 'password', 'no such name'],
      says: /no name is "no such name"/,
    },
    'service --host': { words: ['service', '--host', 'no such host'], says: /no such host/ },
    'failures show <id>': { words: ['failures', 'show', 'nothing'], says: /has this id/ },
    'failures retry <id>': { words: ['failures', 'retry', 'nothing'], says: /no failure has this id/ },
    'failures discard <id>': { words: ['failures', 'discard', 'nothing', '1'], says: /2 of 2 ids are of none/ },
    'quarantine show <id>': { words: ['quarantine', 'show', '999'], says: /has this id/ },
    'quarantine replay <id>': { words: ['quarantine', 'replay', '999'], says: /has this id/ },
    'quarantine discard <id>': { words: ['quarantine', 'discard', '999'], says: /has this id/ },
    'drift accept <id>': { words: ['drift', 'accept', '999'], says: /none with one of these numbers/ },
    'drift accept --by': { words: ['drift', 'accept', '--all', '--by', ' '], says: /--by is blank/ },
    'profiles add <externalId>': { words: ['profiles', 'add', ''], says: /add profiles: "" must not be empty/ },
    'profiles import <file>': { words: ['profiles', 'import', 'none.csv'], says: /none\.csv: there is no such file/ },
    'profiles show <externalId>': { words: ['profiles', 'show', nobody], says: /has this id/ },
    'profiles erase <externalId>': { words: ['profiles', 'erase', nobody, '--yes'], says: /has this id/ },
    'import <what>': { words: ['import', 'none.zip', '--profile', 'ada'], says: /none\.zip: there is no such file/ },
    'import --profile': {
      words: ['import', 'figures.csv', '--profile', nobody],
      says: /"nobody-here" is not known here/,
    },
    'import --format': {
      words: ['import', 'figures.csv', '--profile', 'ada', '--format', 'nothing'],
      says: /"nothing" is no health export/,
    },
    'import <file>': { words: ['import', 'tags', '.'], says: /name does not tell|it is a folder/ },
    'service keys revoke <id>': { words: ['service', 'keys', 'revoke', 'nothing'], says: /no such key/ },
    'service tokens revoke --account': {
      words: ['service', 'tokens', 'revoke', '--account', 'nobody'],
      says: /there is no such account/,
    },
    'service tokens revoke --profile': {
      words: ['service', 'tokens', 'revoke', '--account', 'nobody', '--profile', nobody],
      says: /there is no such account, or it has no such profile/,
    },
    'service sources --account': {
      words: ['service', 'sources', '--account', 'nobody'],
      says: /there is no such account/,
    },
    'service grant <role>': { words: ['service', 'grant', 'no_such_role'], says: /no_such_role/ },
  }
}

test('every option and argument that takes a word has bad input here, or validates its own choices', () => {
  const given = Object.keys(wrongInTheWorld())
  const options = commands.flatMap(({ name, command }) =>
    command.options
      .filter((option) => (option.required || option.optional) && !isPicky(option))
      .map((option) => `${name} ${longOf(option)}`),
  )
  const names = commands.flatMap(({ name, command }) =>
    command.registeredArguments
      .filter(({ argChoices }) => !argChoices)
      .map((argument) => `${name} <${argument.name()}>`),
  )

  expect([...given, ...Object.keys(anyText)].sort()).toEqual([...options, ...names].sort())
})

test('values that only an engine or a file can refuse are refused with the culprit and the cure', {
  timeout,
}, async () => {
  await writeFile(join(world.folder, 'bad.ndjson'), 'no JSON\n')
  await writeFile(join(world.folder, 'empty.har'), '{"log":{"entries":[]}}')
  await writeFile(join(world.folder, 'figures.csv'), 'externalId,date,name,value\nada,2026-07-11,recovery,3\n')
  await eachOf(Object.entries(wrongInTheWorld()), async ([what, { words, code = 2, says }]) => {
    const ended = await world.run(...words)

    expect([what, ended.code], ended.stderr).toEqual([what, code])
    expect(ended.stderr, what).toMatch(says)
    expect(ended.stderr, what).not.toMatch(/\n {4}at |unexpected error/)
    if (ended.stderr !== '') expect(ended.stderr, what).toMatch(/^vitalsync: [^\n]+\n {2}→ \S/m)
    if (code === 2) expect(ended.stdout, what).toBe('')
  })
})

const picky = commands.flatMap(({ name, command }) =>
  command.options.filter(isPicky).map((option) => ({ name, command, long: longOf(option) })),
)

const wanted = (name: string, long: string) =>
  new RegExp(
    `^vitalsync: option '${long} .*'no such thing' is invalid\\. (It must be|Allowed choices).*\n  → Examples: vitalsync ${name} --help\n$`,
  )

test('every option that is picky refuses bad input, and says what it wants', async () => {
  expect(picky.length).toBeGreaterThan(20)
  for (const { name, command, long } of picky) {
    expect(await parserMessageOf([...name.split(' '), ...argumentsOf(command), long, 'no such thing'])).toMatch(
      wanted(name, long),
    )
  }
})

test('every option that takes a date refuses those outside the centuries of health data', async () => {
  const dated = picky.filter(({ command, long }) =>
    command.options.some((option) => longOf(option) === long && option.flags.match(/<da(te|y)>/)),
  )
  expect(dated.length).toBeGreaterThan(8)
  for (const { name, command, long } of dated)
    for (const wrong of ['0001-01-01', '1899-12-31', '2200-01-01', '9999-12-31'])
      expect(await parserMessageOf([...name.split(' '), ...argumentsOf(command), long, wrong]), name).toContain(
        `'${wrong}' is invalid. It must be a da`,
      )
})

test.for(['0', '1', '1025'])('a warehouse is not divided into %s shards', async (shards) => {
  expect(await parserMessageOf(['migrate', '--distribute', '--shards', shards])).toContain('from 2 to 1024')
})

test('a process ends with code 2 and writes nothing to standard output, for a command and for one below it', {
  timeout,
}, async () => {
  const below = picky.find(({ name }) => name.includes(' '))
  for (const { name, command, long } of [picky[0], below].filter((option) => option !== undefined)) {
    const { code, stdout, stderr } = await world.run(...name.split(' '), ...argumentsOf(command), long, 'no such thing')

    expect([name, long, code, stdout]).toEqual([name, long, 2, ''])
    expect(stderr).toMatch(wanted(name, long))
  }
})

test('a flag takes no value, and a command no option of another', async () => {
  for (const { name, command } of commands) {
    for (const option of command.options.filter(({ required, optional }) => !required && !optional)) {
      const words = [...name.split(' '), ...argumentsOf(command), ...mandatoryOf(command)]
      expect(await parserMessageOf([...words, `${longOf(option)}=yes`])).toContain(`'${longOf(option)}=yes'`)
    }
    const refusal = await parserMessageOf([...name.split(' '), ...mandatoryOf(command), '--no-such-option'])
    expect(refusal).toContain('--no-such-option')
    expect(refusal).toContain(`vitalsync ${name} --help`)
  }
})

test('a missing or surplus argument, a missing option, and a closed list are named', async () => {
  for (const { name, command } of commands) {
    const words = name.split(' ')
    const required = command.registeredArguments.filter((argument) => argument.required)
    for (const argument of required.slice(0, 1)) expect(await parserMessageOf(words)).toContain(`'${argument.name()}'`)
    for (const argument of command.registeredArguments.filter(({ argChoices }) => argChoices)) {
      expect(await parserMessageOf([...words, 'nothing', ...argumentsOf(command).slice(1)])).toMatch(
        new RegExp(`'nothing'.*${argument.argChoices?.[0]}`),
      )
    }
    for (const option of command.options.filter(
      ({ mandatory, defaultValue }) => mandatory && defaultValue === undefined,
    )) {
      expect(await parserMessageOf([...words, ...required.map(() => '1')])).toMatch(/required option '--/)
      expect(longOf(option)).not.toBe('')
    }
    if (
      !command.registeredArguments.some(({ variadic }) => variadic) &&
      !command.options.some(({ mandatory }) => mandatory)
    ) {
      expect(await parserMessageOf([...words, ...argumentsOf(command), 'surplus']), name).toMatch(
        /too many arguments|unknown command/,
      )
    }
  }
})

/** Three at once keep two cores busy. */
async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items]
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item)
  }
  await Promise.all([worker(), worker(), worker()])
}
