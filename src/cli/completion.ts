import { Argument, type Command } from 'commander'
import { examples } from './rim.ts'

export const shells = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof shells)[number]

/** `vitalsync completion`: a script for a shell, made of the commands as they are. */
export function declareCompletion(program: Command, print: (text: string) => void): void {
  program
    .command('completion')
    .description('print a script that completes commands, options and their words in your shell')
    .addArgument(new Argument('<shell>', 'which shell').choices(shells))
    .addHelpText(
      'after',
      examples(
        'source <(vitalsync completion bash)',
        'vitalsync completion zsh > ~/.zfunc/_vitalsync',
        'vitalsync completion fish > ~/.config/fish/completions/vitalsync.fish',
      ),
    )
    .action((shell: Shell) => print(scriptFor(program, shell)))
}

/** A command by its words, and what may follow it. */
type Place = { readonly at: string; readonly about: string; readonly words: readonly string[] }
/** An option whose value is one of a few words. */
type Choice = { readonly at: string; readonly words: readonly string[] }

function placesOf(command: Command, at = ''): Place[] {
  const words = [
    ...command.commands.map((child) => child.name()),
    ...command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
    ...command.options.map(({ long }) => long ?? '').filter(Boolean),
    '--help',
  ]
  const place = { at, about: command.description(), words }
  return [place, ...command.commands.flatMap((child) => placesOf(child, `${at} ${child.name()}`))]
}

function choicesOf(command: Command, at = ''): Choice[] {
  const own = command.options.flatMap(({ long, argChoices }) =>
    long && argChoices ? [{ at: `${at} ${long}`, words: argChoices }] : [],
  )
  return [...own, ...command.commands.flatMap((child) => choicesOf(child, `${at} ${child.name()}`))]
}

export function scriptFor(program: Command, shell: Shell): string {
  const places = placesOf(program)
  const choices = choicesOf(program)
  if (shell === 'bash') return bashScript(places, choices)
  return shell === 'zsh' ? zshScript(places, choices) : fishScript(places, choices)
}

const known = (places: readonly Place[]) =>
  places
    .filter(({ at }) => at !== '')
    .map(({ at }) => `"${at}"`)
    .join('|')

const cases = (of: ReadonlyArray<{ at: string; words: readonly string[] }>, name: string) =>
  of.map(({ at, words }) => `    "${at}") ${name}="${words.join(' ')}" ;;`).join('\n')

const bashScript = (places: readonly Place[], choices: readonly Choice[]) => `# vitalsync completion for bash
_vitalsync() {
  local at="" words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
      ${known(places)}) at="$at \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at" in
${cases(places, 'words')}
  esac
  case "$at \${COMP_WORDS[COMP_CWORD-1]}" in
${cases(choices, 'words')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _vitalsync vitalsync`

const zshScript = (places: readonly Place[], choices: readonly Choice[]) => `#compdef vitalsync
# vitalsync completion for zsh
_vitalsync() {
  local at="" follow="" word
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
      ${known(places)}) at="$at $word" ;;
    esac
  done
  case "$at" in
${cases(places, 'follow')}
  esac
  case "$at \${words[CURRENT-1]}" in
${cases(choices, 'follow')}
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

const fishScript = (places: readonly Place[], choices: readonly Choice[]) => {
  const abouts = new Map(places.map(({ at, about }) => [at, about]))
  const quote = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const lines = places.flatMap(({ at, words }) =>
    words.map((word) => {
      const about = abouts.get(`${at} ${word}`)
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${word}`
      return `complete -c vitalsync -n ${quote(`__vitalsync_at "${at}"`)} ${what}${about ? ` -d ${quote(about)}` : ''}`
    }),
  )
  const values = choices.map(({ at, words }) => {
    const [, place = '', option = ''] = /^(.*) --(.+)$/.exec(at) ?? []
    return `complete -c vitalsync -n ${quote(`__vitalsync_at "${place}"`)} -l ${option} -x -a ${quote(words.join(' '))}`
  })
  return `# vitalsync completion for fish
function __vitalsync_at
  set -l at ""
  for word in (commandline -opc)[2..-1]
    switch "$at $word"
      case ${places
        .filter(({ at }) => at !== '')
        .map(({ at }) => `"${at}"`)
        .join(' ')}
        set at "$at $word"
    end
  end
  test "$at" = "$argv[1]"
end
${[...lines, ...values].join('\n')}`
}
