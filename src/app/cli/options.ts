import { Command, InvalidArgumentError, Option } from 'commander'
import type { pulledStreams, pushedStreams } from '../../../config/streams.ts'
import type { scoreTypes } from '../../base/contract/score.ts'
import { UsageProblem } from '../../base/errors.ts'
import { isStorable, isStorableDay, parseInstant } from '../../base/time/instant.ts'
import type { FileFormat } from '../../intake/file-entries.ts'
import { parsePartList } from '../../pipeline/fleet/queue-parts.ts'
import type { ExportName } from '../../service/sandbox/exports/export-writers.ts'
import type { CommandContext, UncheckedContext } from '../terminal/command-context.ts'

/** The process in which a command runs, as far as the declarations of the commands use it. */
export type CliProcess = {
  context(options: { json: boolean }): CommandContext
  /** For a command that examines the configuration, which may be wrong. */
  uncheckedContext(options: { json: boolean }): UncheckedContext
  print(text: string): void
  exit(code: number): void
}

/** The options of a command as commander gives them: those that its work takes, and `--json`. */
export type Given<Run extends (context: never, options: never) => unknown> = Parameters<Run>[1] & { json: boolean }

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
export const scoreNames = wordsOf<(typeof scoreTypes)[number]>({
  wellbeing: true,
  activity: true,
  sleep: true,
  readiness: true,
  mental_wellbeing: true,
})
export const fileFormats = wordsOf<FileFormat>({ ndjson: true, csv: true })
export const exportNames = wordsOf<ExportName>({
  'apple-health': true,
  'health-connect': true,
  'garmin-fit': true,
  fitbit: true,
  'garmin-connect': true,
  oura: true,
  whoop: true,
  withings: true,
  'google-fit': true,
  polar: true,
  'samsung-health': true,
  fitabase: true,
  'open-mhealth': true,
  fhir: true,
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

export function parseParts(text: string): number[] {
  const parts = parsePartList(text)
  if (!parts) throw new InvalidArgumentError('It must be parts of the queue such as 0-3 or 0,2,5-7.')
  return parts
}

export function parseLocalDay(text: string): string {
  if (!isStorableDay(text)) throw new InvalidArgumentError('It must be a day such as 2026-01-31, from 1900 to 2199.')
  return text
}

/** A date is its midnight in UTC, a date-time without an offset is UTC. */
export function parseDateOption(text: string): Date {
  const read = parseInstant(text)
  if (!read || !isStorable(read))
    throw new InvalidArgumentError('It must be a date such as 2026-01-31, or 2026-01-31T06:00:00Z, from 1900 to 2199.')
  return new Date(read.epochMs)
}

/** A span such as `3d` or `36h`, in hours. */
export function parseHours(text: string): number {
  const [, number, unit] = /^(\d{1,5})([dh])$/.exec(text) ?? []
  if (number === undefined) throw new InvalidArgumentError('It must be a span such as 3d or 36h.')
  return Number(number) * (unit === 'd' ? 24 : 1)
}

export function parseShare(text: string): number {
  const share = Number(text)
  if (!/^[\d.]+$/.test(text) || !(share <= 1)) throw new InvalidArgumentError('It must be a share from 0 to 1.')
  return share
}

export function collectValues(text: string, before: readonly string[]): string[] {
  return [...before, text]
}

/** For an option that may be given several times: each value is checked, and the message lists the allowed names. */
export function collectStream(text: string, before: readonly string[]): string[] {
  if (!streamNames.includes(text)) throw new InvalidArgumentError(`It must be one of ${streamNames.join(', ')}.`)
  return [...before, text]
}

export function parseTimeZone(text: string): string {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone
  } catch {
    throw new InvalidArgumentError('It must be a time zone such as Europe/Berlin, or +02:00.')
  }
}

/** A command whose help ends with examples. */
export class Verb extends Command {
  override createCommand(name?: string): Verb {
    return new Verb(name)
  }

  examples(...lines: string[]): this {
    const title = lines.length === 1 ? 'Example' : 'Examples'
    return this.addHelpText('after', `\n${title}:\n${lines.map((line) => `  ${line}`).join('\n')}`)
  }
}

export const jsonOption = (what: string) => new Option('--json', what).default(false)
export const choiceOption = (flags: string, about: string, words: readonly string[]) =>
  new Option(flags, about).choices(words)

const parseCause = (text: string): string => {
  if (!/^[0-9a-f]{32}$/.test(text)) throw new InvalidArgumentError('It must be a cause of the list.')
  return text
}

export const causeOption = () =>
  new Option('--cause <id>', 'only of this cause: `cause` of list --json, and on the dashboard').argParser(parseCause)

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

export type SelectionOptions = { profile: string[]; stream: string[] }
export const selectionOf = ({ profile, stream }: SelectionOptions) => ({ profiles: profile, streams: stream })

/** A command without ids and without a filter must not act on everything. */
export function requireIdsOrFilter(ids: readonly string[], filter: string | boolean | undefined): void {
  if (ids.length > 0 || filter !== undefined) return
  throw new UsageProblem('choose: neither ids nor a filter were given', { hint: 'Name ids, or give --all.' })
}
