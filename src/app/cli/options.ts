import { Command, InvalidArgumentError, Option } from 'commander'
import type { pulledStreams, pushedStreams } from '../../../config/streams.ts'
import { isStorable, parseInstant } from '../../base/time/instant.ts'
import type { CommandContext, UncheckedContext } from '../terminal/command-context.ts'

/** The process in which a command runs, as far as the declarations of the commands use it. */
export type CliProcess = {
  context(options: { json: boolean }): CommandContext
  /** For a command that examines the configuration, which may be wrong. */
  uncheckedContext(options: { json: boolean }): UncheckedContext
  print(text: string): void
  exit(code: number): void
}

/**
 * The words of options are written here again, and held against what they name by their type alone: help and completion load neither the
 * streams, with the schemas of their answers, nor the code of formats.
 */
export const wordsOf = <Word extends string>(words: Record<Word, true>) => Object.keys(words) as Word[] // the keys of a literal

export const streamNames: readonly string[] = wordsOf<(typeof pulledStreams)[number]['name']>({
  scores: true,
  biomarkers: true,
  archetypes: true,
  trends: true,
  comparisons: true,
  tags: true,
  demographics: true,
  'device-information': true,
})
/** The most frequent imports first, which is the reverse of the order of pushing. */
export const pushedStreamNames = wordsOf<(typeof pushedStreams)[number]['name']>({
  'data-logs': true,
  tags: true,
  demographics: true,
  'device-information': true,
})
export function parseWhole(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

export function parsePositive(text: string): number {
  if (parseWhole(text) === 0) throw new InvalidArgumentError('It must be at least 1.')
  return Number(text)
}

/** A number by which a list names what it holds: longer than a number can be. */
export function parseListNumber(text: string): string {
  if (!/^\d{1,18}$/.test(text)) throw new InvalidArgumentError('It must be a number of the list.')
  return text
}

export function parsePort(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('It must be a whole number from 0 to 65535.')
  return Number(text)
}

/** A date is its midnight in UTC, a date-time without an offset is UTC. */
export function parseDateOption(text: string): Date {
  const read = parseInstant(text)
  if (!read || !isStorable(read))
    throw new InvalidArgumentError('It must be a date such as 2026-01-31, or 2026-01-31T06:00:00Z, from 1900 to 2199.')
  return new Date(read.epochMs)
}

export function collectValues(text: string, before: readonly string[]): string[] {
  return [...before, text]
}

/** For an option that may be given several times: each value is checked, and the message lists the allowed names. */
export function collectStream(text: string, before: readonly string[]): string[] {
  if (!streamNames.includes(text)) throw new InvalidArgumentError(`It must be one of ${streamNames.join(', ')}.`)
  return [...before, text]
}

/** A command whose help ends with examples, and whose work is loaded when it runs. */
export class Verb extends Command {
  readonly cli: CliProcess

  constructor(cli: CliProcess, name?: string) {
    super(name)
    this.cli = cli
  }

  override createCommand(name?: string): Verb {
    return new Verb(this.cli, name)
  }

  examples(...lines: string[]): this {
    const title = lines.length === 1 ? 'Example' : 'Examples'
    return this.addHelpText('after', `\n${title}:\n${lines.map((line) => `  ${line}`).join('\n')}`)
  }

  /** `what`: what is printed with --json. */
  json(what: string): this {
    return this.addOption(new Option('--json', what).default(false))
  }

  /**
   * Loads the work and does it. The work gets options and arguments by their names, an argument that may be repeated by its plural; it
   * returns the exit code, or nothing where the verb has ended well.
   */
  does(
    load: (context: CommandContext, given: never) => Promise<(context: CommandContext, given: never) => unknown>,
  ): this {
    return this.action(async () => {
      const { json = false, ...options } = this.opts()
      const context = this.cli.context({ json })
      const given = { ...options, ...this.namedArguments() } as never // each work says what it takes
      const work = await load(context, given)
      const code = await work(context, given)
      if (typeof code === 'number') this.cli.exit(code)
    })
  }

  private namedArguments() {
    const named = this.registeredArguments.flatMap((argument, index) => {
      const { [index]: value } = this.processedArgs
      const isAbsent = value === undefined || (argument.variadic && value.length === 0)
      return isAbsent ? [] : [[argument.variadic ? `${argument.name()}s` : argument.name(), value]]
    })
    return Object.fromEntries(named)
  }
}

export const choiceOption = (flags: string, about: string, words: readonly string[]) =>
  new Option(flags, about).choices(words)

/** `--profile` and `--stream`; each may be given several times. */
export function withSelectionOptions(command: Verb): Verb {
  return withStreamOption(
    command.option('--profile <externalId>', 'only this profile; may be given several times', collectValues, []),
  )
}

/** `--stream`, which may be given several times. */
export const withStreamOption = (command: Verb): Verb =>
  command.option(
    '--stream <name>',
    `only this stream (${streamNames.join(', ')}); may be given several times`,
    collectStream,
    [],
  )
