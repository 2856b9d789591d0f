import type { Command } from 'commander'

type Shell = 'bash' | 'zsh' | 'fish'
/** The words that may follow a command; the command is named by all its words, such as ` failures list`. */
type CommandWords = { readonly path: string; readonly about: string; readonly words: readonly string[] }
/** An option whose value is one of a few words, named by its command and itself, such as ` export --format`. */
type OptionChoices = { readonly path: string; readonly words: readonly string[] }

/** The script by which a shell completes the commands of a program, their options and the words of both. */
export const completionScript = (shell: Shell, program: Command): string =>
  scripts[shell](commandWordsOf(program), optionChoicesOf(program))

function commandWordsOf(command: Command, path = ''): CommandWords[] {
  const words = [
    ...command.commands.map((child) => child.name()),
    ...command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
    ...command.options.map(({ long }) => long ?? '').filter(Boolean),
    '--help',
  ]
  const entry = { path, about: command.description(), words }
  return [entry, ...command.commands.flatMap((child) => commandWordsOf(child, `${path} ${child.name()}`))]
}

function optionChoicesOf(command: Command, path = ''): OptionChoices[] {
  const choices = command.options.flatMap(({ long, argChoices }) =>
    long && argChoices ? [{ path: `${path} ${long}`, words: argChoices }] : [],
  )
  return [...choices, ...command.commands.flatMap((child) => optionChoicesOf(child, `${path} ${child.name()}`))]
}

const commandPatterns = (commands: readonly CommandWords[]) =>
  commands
    .filter(({ path }) => path !== '')
    .map(({ path }) => `"${path}"`)
    .join('|')

const shellCases = (cases: ReadonlyArray<{ path: string; words: readonly string[] }>, name: string) =>
  cases.map(({ path, words }) => `    "${path}") ${name}="${words.join(' ')}" ;;`).join('\n')

const bashScript = (
  commands: readonly CommandWords[],
  choices: readonly OptionChoices[],
) => `# vitalsync completion for bash
_vitalsync() {
  local at="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
      ${commandPatterns(commands)}) at="$at \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at" in
${shellCases(commands, 'words')}
  esac
  case "$at \${COMP_WORDS[COMP_CWORD-1]}" in
${shellCases(choices, 'words')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _vitalsync vitalsync`

const zshScript = (commands: readonly CommandWords[], choices: readonly OptionChoices[]) => `#compdef vitalsync
# vitalsync completion for zsh
_vitalsync() {
  local at="" follow="" word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
      ${commandPatterns(commands)}) at="$at $word" ;;
    esac
  done
  case "$at" in
${shellCases(commands, 'follow')}
  esac
  case "$at \${words[CURRENT-1]}" in
${shellCases(choices, 'follow')}
  esac
  compadd -- \${=follow}
  _files
}
# A file of fpath is run by the first Tab itself; one that was sourced waits for it.
if [[ "\${funcstack[1]}" == _vitalsync ]]; then
  _vitalsync "$@"
else
  compdef _vitalsync vitalsync
fi`

const fishScript = (commands: readonly CommandWords[], choices: readonly OptionChoices[]) => {
  const abouts = new Map(commands.map(({ path, about }) => [path, about]))
  const quote = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const lines = commands.flatMap(({ path, words }) =>
    words.map((word) => {
      const about = abouts.get(`${path} ${word}`)
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${word}`
      return `complete -c vitalsync -n ${quote(`__vitalsync_at "${path}"`)} ${what}${about ? ` -d ${quote(about)}` : ''}`
    }),
  )
  const values = choices.map(({ path, words }) => {
    const [, command = '', option = ''] = /^(.*) --(.+)$/.exec(path) ?? []
    return `complete -c vitalsync -n ${quote(`__vitalsync_at "${command}"`)} -l ${option} -x -a ${quote(words.join(' '))}`
  })
  return `# vitalsync completion for fish
function __vitalsync_at
  set -l at ""
  for word in (commandline -opc)[2..-1]
    switch "$at $word"
      case ${commands
        .filter(({ path }) => path !== '')
        .map(({ path }) => `"${path}"`)
        .join(' ')}
        set at "$at $word"
    end
  end
  test "$at" = "$argv[1]"
end
${[...lines, ...values].join('\n')}`
}

const scripts: Readonly<Record<Shell, typeof bashScript>> = { bash: bashScript, zsh: zshScript, fish: fishScript }
