/**
 * The program's errors. Each says what to do next. The queue and the jobs read the intent (retry later, give up, not there,
 * stop the account); the command line shows message and hint to a person and turns the class into an exit code.
 *
 * No message may carry an externalId, a token or a health value: messages are logged, counted and stored.
 */

/** `requestId`: of upstream's answer, by which its operators find the request. */
type ProblemOptions = { hint?: string | undefined; cause?: unknown; status?: number; requestId?: string | undefined }

/** An error that an operator can act on: the message says what failed, the hint says what to do about it. */
export class Problem extends Error {
  readonly hint: string | undefined
  /** The status of upstream's answer; undefined where there was none. */
  readonly status: number | undefined
  readonly requestId: string | undefined

  constructor(message: string, options: ProblemOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = new.target.name
    this.hint = options.hint
    this.status = options.status
    this.requestId = options.requestId
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

/** Upstream refuses this request, however often it is sent. `details` holds upstream's reasons by path, without values. */
export class Rejected extends Problem {
  declare readonly status: number
  readonly details: ReadonlyArray<{ path: string; reasons: readonly string[] }>

  constructor(
    message: string,
    options: ProblemOptions & { status: number; details?: ReadonlyArray<{ path: string; reasons: readonly string[] }> },
  ) {
    super(message, options)
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

/** Upstream refuses the account's credentials: no request of this account succeeds until an operator mends them. */
export class Halted extends Problem {}

/** Upstream may have carried out the request, but its answer did not arrive or cannot be parsed. */
export class Unanswered extends Problem {}

/** The command line or the configuration is wrong: exit code 2. */
export class UsageProblem extends Problem {}

/** The thing that an id or a filter names does not exist, or does not any more: exit code 2, and 404 on a page. */
export class UnknownId extends UsageProblem {}

/**
 * A database, a queue or the upstream could not be used: exit code 3. With `isConfiguration` it will not be usable before the
 * address, the credentials or the server are changed: exit code 2.
 */
export class EngineUnreachable extends Problem {
  readonly isConfiguration: boolean

  constructor(message: string, options: ProblemOptions & { isConfiguration?: boolean } = {}) {
    super(message, options)
    this.isConfiguration = options.isConfiguration ?? false
  }
}
