import type { Operation } from '../../base/contract/operations.ts'
import { isJsonObject } from '../../base/text/json.ts'
import type { Fields } from '../../pipeline/transfer/stream.ts'

/** Names and secrets that the body of a question may hold. They stay where requests are sent, and in no report. */
type Secrets = {
  readonly clientId: string
  readonly clientSecret: string
  readonly externalId: string
  readonly refreshToken: string
}

/** One request to upstream. Questions with the same key are one question, and are sent once. */
export type Question = {
  readonly key: string
  readonly operation: Operation
  /** Which of the people that were chosen, or the profile that `--write` registers and deletes. */
  readonly person?: number | 'throw-away'
  readonly query?: Readonly<Record<string, string | number>>
  /** The query as a report may show it, where it was taken from a record. */
  readonly shownQuery?: Readonly<Record<string, string>>
  /** By default the token that the operation asks for. */
  readonly token?: 'none' | 'made-up'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: (secrets: Secrets) => unknown
}

/** A question with its answer. `status` is undefined where no answer came, and `failure` then says why. */
export type Exchange = {
  readonly question: Question
  readonly status: number | undefined
  readonly failure: string | undefined
  readonly headers: Readonly<Record<string, string>>
  /** Parsed from JSON; undefined where there was none. Tokens in it are masked. */
  readonly body: unknown
  readonly bytes: number
  readonly digest: string
  /** How far upstream's clock was ahead of ours, by its Date header. */
  readonly aheadMs: number | undefined
}

/** The answers so far. */
export type Seen = {
  answer(key: string): Exchange | undefined
  answers(): readonly Exchange[]
  /** How many people are asked about. */
  readonly people: number
  readonly startedAtMs: number
}

/** `harmful`: the pipeline would be wrong about somebody's data, or could not read it. `harmless`: it copes. */
type Severity = 'harmless' | 'harmful'
export type Deviation = {
  readonly severity: Severity
  readonly says: string
  readonly question?: Question | undefined
}

/** One thing that the specification says, or leaves open and the pipeline relies on. */
export type ContractPoint = {
  readonly name: string
  readonly specified: string
  /** How many requests it adds to the plan at most. Absent: none. */
  readonly requestsMax?: number
  /** The questions, given the answers so far. Called again after each round, until nothing new is asked. Pure. Absent: it judges what others ask. */
  asks?(seen: Seen): readonly Question[]
  /** Pure. Empty: as the specification says. Undefined: the answers do not show it. */
  judge(seen: Seen): readonly Deviation[] | undefined
  /** The setting to change here, where upstream differs. */
  readonly setting?: string
  /** The requests that undo what the point has done upstream; sent at the end, however it came. */
  undoes?(seen: Seen): readonly Question[]
}

const RECORDS_EXAMINED_MAX = 5000

/** The records of an answer; of a snapshot its one. */
export function recordsOf(exchange: Exchange | undefined): readonly Fields[] {
  if (exchange?.status !== 200) return []
  return [exchange.body].flat().filter(isJsonObject).slice(0, RECORDS_EXAMINED_MAX)
}

export const isOk = ({ status }: Exchange) => status !== undefined && status >= 200 && status < 300

export const harmless = (says: string, question?: Question): Deviation => ({ severity: 'harmless', says, question })
export const harmful = (says: string, question?: Question): Deviation => ({ severity: 'harmful', says, question })

/** How an answer is named in a sentence. */
export const endOf = ({ status, failure }: Exchange) => (status === undefined ? (failure ?? 'no answer') : `${status}`)

const SHOWN_MAX = 6

/** A list for a sentence, short even where upstream is not. */
export function shortList(names: Iterable<string>): string {
  const all = [...new Set(names)]
  const more = all.length - SHOWN_MAX
  return more > 0 ? `${all.slice(0, SHOWN_MAX).join(', ')} and ${more} more` : all.join(', ')
}

/** A deviation that lists the names; none without a name. */
export const listed = (deviation: typeof harmless, says: string, names: readonly string[], question?: Question) =>
  names.length > 0 ? [deviation(`${says} ${shortList(names)}`, question)] : []
