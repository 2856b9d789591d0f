import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test as base, expect } from 'vitest'
import { needTerminal, runAtTerminal } from '../../support/in-terminal.ts'
import { needProgram } from '../../support/programs.ts'
import { commandsOf, tree } from './reference.ts'

const test = base.extend<{ home: string }>({
  home: async ({}, use) => {
    const home = await mkdtemp(join(tmpdir(), 'vitalsync-completion-'))
    await use(home)
    await rm(home, { recursive: true, force: true })
  },
})

const shells = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof shells)[number]

async function completionScriptFor(shell: Shell): Promise<string> {
  const printed: string[] = []
  await tree((text) => printed.push(text)).parseAsync(['completion', shell], { from: 'user' })
  return printed.join('\n')
}

test('the scripts know every command and every word of a closed list', async () => {
  const program = tree()
  for (const shell of shells) {
    const script = await completionScriptFor(shell)

    for (const { name } of commandsOf(program)) expect(script).toContain(` ${name}`)
    expect(script).toContain('ndjson csv parquet singer')
  }
})

/** The start files of each shell: a `vitalsync` that prints its arguments, and a prompt to wait for. */
const ways: ReadonlyArray<{
  way: string
  shell: Shell
  files: (script: string) => Record<string, string>
  words: string[]
}> = [
  {
    way: 'bash, sourced',
    shell: 'bash',
    files: (script) => ({ bashrc: `vitalsync() { echo "RAN $*"; }\nPS1='ready> '\n${script}\n` }),
    words: ['bash', '--noprofile', '--rcfile', 'bashrc', '-i'],
  },
  {
    way: 'zsh, sourced',
    shell: 'zsh',
    files: (script) => ({
      '.zshrc': `autoload -Uz compinit\ncompinit -u\nvitalsync() { print "RAN $*" }\nPS1='ready> '\nsource ./script\n`,
      script,
    }),
    words: ['zsh', '-i'],
  },
  {
    way: 'zsh, as a file of fpath',
    shell: 'zsh',
    files: (script) => ({
      '.zshrc': `fpath=("$PWD/zfunc" $fpath)\nautoload -Uz compinit\ncompinit -u\nvitalsync() { print "RAN $*" }\nPS1='ready> '\n`,
      'zfunc/_vitalsync': script,
    }),
    words: ['zsh', '-i'],
  },
  {
    way: 'fish, as a file of its completions',
    shell: 'fish',
    files: (script) => ({
      'fish/config.fish': `function vitalsync\n  echo "RAN $argv"\nend\nfunction fish_prompt\n  echo 'ready> '\nend\n`,
      'fish/completions/vitalsync.fish': script,
    }),
    words: ['fish', '-i'],
  },
]

const typed = [
  'vitalsync failures ret\t--all',
  'vitalsync export --format par\t',
  'vitalsync gaps --prof\tada',
  'exit',
  '',
]

for (const { way, shell, files, words } of ways) {
  test(`${way}: Tab completes commands, options and their words`, async ({ home, skip }) => {
    needTerminal(skip)
    if (shell !== 'bash') needProgram(skip, shell)
    for (const [name, text] of Object.entries(files(await completionScriptFor(shell)))) {
      await mkdir(join(home, name, '..'), { recursive: true })
      await writeFile(join(home, name), text)
    }
    const env = { ZDOTDIR: home, XDG_CONFIG_HOME: home, XDG_DATA_HOME: home, TERM: 'vt100' }
    const { shown } = await runAtTerminal(words, { cwd: home, env, typed: { seen: 'ready> ', send: typed.join('\r') } })

    for (const ran of ['failures retry --all', 'export --format parquet', 'gaps --profile ada']) {
      expect(shown).toContain(`RAN ${ran}`)
    }
  })
}
