import { type Command, InvalidArgumentError, Option } from 'commander'
import { streams } from '../../config/streams.ts'
import type { CommandContext } from '../commands/engines.ts'
import { parseInstant } from '../contract/instant.ts'

/** What the declarations of commands need from the process they run in. */
export type Rim = {
  context(options: { json?: boolean }): CommandContext
  exit(code: number): void
}

export const exitCodes = { done: 0, failures: 1, usage: 2, unreachable: 3 } as const

export const streamNames: readonly string[] = streams.map(({ name }) => name)

export function whole(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

export function positive(text: string): number {
  if (whole(text) === 0) throw new InvalidArgumentError('It must be at least 1.')
  return Number(text)
}

export function port(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('It must be a whole number from 0 to 65535.')
  return Number(text)
}

export function localDay(text: string): string {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || !parseInstant(text))
    throw new InvalidArgumentError('It must be a day such as 2026-01-31.')
  return text
}

/** A date is its midnight in UTC, a date-time without an offset is UTC. */
export function instant(text: string): Date {
  const read = parseInstant(text)
  if (!read) throw new InvalidArgumentError('It must be a date such as 2026-01-31, or 2026-01-31T06:00:00Z.')
  return new Date(read.epochMs)
}

export function gather(text: string, before: readonly string[]): string[] {
  return [...before, text]
}

/** May be given several times; checked one by one, with the allowed words in the message. */
export function gatherStream(text: string, before: readonly string[]): string[] {
  if (!streamNames.includes(text)) throw new InvalidArgumentError(`It must be one of ${streamNames.join(', ')}.`)
  return [...before, text]
}

export function timeZone(text: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone
  } catch {
    throw new InvalidArgumentError('It must be a time zone such as Europe/Berlin, or +02:00.')
  }
}

export const examples = (...lines: string[]) =>
  `\n${lines.length === 1 ? 'Example' : 'Examples'}:\n${lines.map((line) => `  ${line}`).join('\n')}`

export const jsonOption = (what: string) => new Option('--json', what).default(false)
export const choice = (flags: string, about: string, words: readonly string[]) =>
  new Option(flags, about).choices(words)

/** `--profile` and `--stream`, each as often as wanted. */
export function choosing(command: Command): Command {
  return command
    .option('--profile <externalId>', 'only this person; may be given several times', gather, [])
    .option(
      '--stream <name>',
      `only this stream (${streamNames.join(', ')}); may be given several times`,
      gatherStream,
      [],
    )
}

export type Choosing = { profile: string[]; stream: string[] }
export const chosenIn = ({ profile, stream }: Choosing) => ({ profiles: profile, streams: stream })
