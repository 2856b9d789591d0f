/** A mutant with what the tests made of it. */
export type Mutant = {
  readonly file: string
  readonly line: number
  /** The source lines with the mutated text, and the same lines after the replacement: they name the mutant in every version of the file. */
  readonly from: string
  readonly to: string
  readonly state: MutantState
  /** Offsets of the mutated text within the file, and the text that replaces it. */
  readonly start: number
  readonly end: number
  readonly replacement: string
}

/** `unreached`: no test runs the mutated text. `invalid`: the mutant cannot be loaded, or changes a constant of a module. */
type MutantState = 'killed' | 'survived' | 'unreached' | 'timed out' | 'invalid'

const stateOf: Readonly<Record<string, MutantState>> = {
  Killed: 'killed',
  Survived: 'survived',
  NoCoverage: 'unreached',
  Timeout: 'timed out',
  CompileError: 'invalid',
  RuntimeError: 'invalid',
  Ignored: 'invalid',
}

/** The part of Stryker's JSON report that is read here (mutation-testing-elements, schema 2). */
export type StrykerReport = { readonly files: Readonly<Record<string, ReportedFile>> }

type ReportedFile = { readonly source: string; readonly mutants: readonly ReportedMutant[] }

type ReportedMutant = {
  readonly replacement: string
  readonly status: string
  /** The failure of the test that killed it. */
  readonly statusReason?: string
  readonly location: { readonly start: Position; readonly end: Position }
}

/** Line and column, both from 1. */
type Position = { readonly line: number; readonly column: number }

export const mutantsOf = ({ files }: StrykerReport): Mutant[] =>
  Object.entries(files).flatMap(([file, { source, mutants }]) =>
    mutants.map((mutant) => describeMutant(file, source, mutant)),
  )

function describeMutant(
  file: string,
  source: string,
  { replacement, status, statusReason, location }: ReportedMutant,
): Mutant {
  const state = statusReason?.startsWith('Test timed out') ? 'timed out' : stateOf[status]
  if (state === undefined) throw new Error(`read report: a mutant of ${file} has the unknown status ${status}`)
  const lines = source.split('\n')
  const [start, end] = [offsetOf(lines, location.start), offsetOf(lines, location.end)]
  const before = source.slice(source.lastIndexOf('\n', start - 1) + 1, start)
  const afterEnd = source.indexOf('\n', end)
  const after = source.slice(end, afterEnd < 0 ? source.length : afterEnd)
  const withText = (text: string) => oneLine(`${before}${shortened(text)}${after}`)
  const [from, to] = [withText(source.slice(start, end)), withText(replacement)]
  return { file, line: location.start.line, from, to, state, start, end, replacement }
}

const offsetOf = (lines: readonly string[], { line, column }: Position): number =>
  lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, column - 1)

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()

const SHORT_LENGTH = 120

/** A text of several lines, such as the body of a function, is named by its ends. */
function shortened(text: string): string {
  const line = oneLine(text)
  return line.length <= SHORT_LENGTH ? line : `${line.slice(0, SHORT_LENGTH / 2)} … ${line.slice(-SHORT_LENGTH / 4)}`
}

/** The file as the mutant has it. */
export const mutatedText = (source: string, { start, end, replacement }: Mutant): string =>
  source.slice(0, start) + replacement + source.slice(end)
