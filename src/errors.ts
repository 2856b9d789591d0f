/**
 * The errors of this house. Each says what to do next, in one of two vocabularies:
 * intents, read by the queue and the jobs (retry later, give up, not there, stop the account), and
 * problems at the rim, read by a person at a terminal and turned into an exit code by the command line.
 *
 * No message may carry an externalId, a token or a health value: messages are logged, counted and stored.
 */

type ProblemOptions = { hint?: string; cause?: unknown }

/** Something a person can act on: what failed, and in `hint` what to do about it. */
export class Problem extends Error {
  readonly hint: string | undefined

  constructor(message: string, options: ProblemOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = new.target.name
    this.hint = options.hint
  }
}

/** Try the same again, not before `waitMs` have passed. Uses up no attempt. */
export class RetryLater extends Problem {
  readonly waitMs: number

  constructor(message: string, options: ProblemOptions & { waitMs: number }) {
    super(message, options)
    this.waitMs = options.waitMs
  }
}

/** Upstream will not take this, however often it is asked. `details` are its own words, scrubbed, by the path they name. */
export class Rejected extends Problem {
  readonly status: number
  readonly details: ReadonlyArray<{ path: string; reasons: readonly string[] }>

  constructor(
    message: string,
    options: ProblemOptions & { status: number; details?: ReadonlyArray<{ path: string; reasons: readonly string[] }> },
  ) {
    super(message, options)
    this.status = options.status
    this.details = options.details ?? []
  }
}

/** The profile, or the thing asked for, is not known upstream (404) or was removed (410). */
export class NotThere extends Problem {
  readonly removed: boolean

  constructor(message: string, options: ProblemOptions & { removed?: boolean } = {}) {
    super(message, options)
    this.removed = options.removed ?? false
  }
}

/** The account's credentials are refused: nothing of this account can go on until a person mends them. */
export class Halted extends Problem {}

/** A reading or write that the upstream may have answered, but whose answer did not arrive or made no sense. */
export class Unanswered extends Problem {}

/** The command line or the configuration is wrong: exit code 2. */
export class UsageProblem extends Problem {}

/** A database, a queue or the upstream could not be reached: exit code 3. */
export class EngineUnreachable extends Problem {}
