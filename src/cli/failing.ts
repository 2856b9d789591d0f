import { EngineUnreachable, Problem, RetryLater, Unanswered, UsageProblem } from '../errors.ts'
import { exitCodes } from './rim.ts'

/** What a person is told, and what the shell is. */
export type Failed = { readonly text: string; readonly hint: string | undefined; readonly code: number }

/** Upstream, too, is an engine: that it gave no answer, or asks to come back later, is not the command's failure. */
const unreachable = [EngineUnreachable, Unanswered, RetryLater]

/** Whatever went wrong, as what went wrong and what to do about it. A stack is only for what nobody thought of. */
export async function failureOf(error: unknown): Promise<Failed> {
  if (error instanceof Problem) return { text: error.message, hint: error.hint, code: codeOf(error) }
  const file = fileTrouble(error)
  if (file) return file
  const { isOutage, sqlState, unreachable: away } = await import('../warehouse/pool.ts')
  const state = sqlState(error)
  const refusal = refusals.find(({ states }) => states.test(state))
  if (refusal) return { text: `ask Postgres: ${(error as Error).message}`, ...refusal }
  // 28 and 3D: it does not let us in, or has no such database.
  if (isOutage(error) || /^(28|3D)/.test(state)) return failureOf(away(error))
  const stack = error instanceof Error ? error.stack : String(error)
  return { text: `unexpected error, please report it\n${stack}`, hint: undefined, code: exitCodes.failures }
}

function codeOf(problem: Problem): number {
  if (problem instanceof UsageProblem) return exitCodes.usage
  return unreachable.some((kind) => problem instanceof kind) ? exitCodes.unreachable : exitCodes.failures
}

const { failures, usage } = exitCodes
const elsewhere = 'Name another place, or run it as a user who may.'

/** The file system's words for people. */
const troubles: Readonly<Record<string, { words: string; hint: string; code: number }>> = {
  ENOSPC: { words: 'the disk is full', hint: 'Free some space, and give the same command again.', code: failures },
  EDQUOT: { words: 'the quota is used up', hint: 'Free some space, and give the same command again.', code: failures },
  EFBIG: {
    words: 'the file grew too large',
    hint: 'Choose a place that takes larger files, or raise the limit.',
    code: failures,
  },
  EMFILE: { words: 'too many files are open', hint: 'Raise the limit: ulimit -n 4096.', code: failures },
  EIO: { words: 'the disk does not answer', hint: 'Look at the disk, or name another place.', code: failures },
  EROFS: { words: 'the disk may only be read', hint: elsewhere, code: usage },
  EACCES: { words: 'this user may not', hint: elsewhere, code: usage },
  EPERM: { words: 'this user may not', hint: elsewhere, code: usage },
  EISDIR: { words: 'it is a folder', hint: 'Name a file.', code: usage },
  ENOTDIR: { words: 'a part of its path is no folder', hint: 'Name another place.', code: usage },
  ENOENT: { words: 'there is no such file or folder', hint: 'Check the path, or make the folder first.', code: usage },
  ENAMETOOLONG: { words: 'the name is too long', hint: 'Name another place.', code: usage },
}

/** What Postgres refuses for a reason that a person can mend. Its words name roles and tables, no people. */
const refusals: ReadonlyArray<{ states: RegExp; hint: string; code: number }> = [
  {
    states: /^53100$/,
    hint: 'Its disk is full: free some space there, and give the same command again.',
    code: failures,
  },
  { states: /^42704$/, hint: 'Name one that there is, or make it: create role … login password ….', code: usage },
  {
    states: /^(42P01|3F000)$/,
    hint: 'The warehouse’s tables are made by vitalsync migrate, those of the Profile Service by vitalsync service.',
    code: usage,
  },
  { states: /^42501$/, hint: 'Run it as the role that owns the tables.', code: usage },
]

type SystemError = Error & { code: string; syscall: string; path?: string }

const isSystemError = (error: unknown): error is SystemError =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' && 'syscall' in error

function fileTrouble(error: unknown): Failed | undefined {
  if (!isSystemError(error) || error.syscall === 'connect') return undefined
  const trouble = troubles[error.code]
  if (!trouble) return undefined
  const { words, hint, code } = trouble
  return { text: `${error.syscall} ${error.path ?? 'a file'}: ${words}`, hint, code }
}
