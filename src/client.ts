import type { z } from 'zod'
import { pulledStreams } from '../config/streams.ts'
import type { archetypeAnswerSchema, receivedArchetypeSchema } from './base/contract/archetype.ts'
import type { biomarkerAnswerSchema, receivedBiomarkerSchema } from './base/contract/biomarker.ts'
import type { comparisonAnswerSchema, receivedComparisonSchema } from './base/contract/comparison.ts'
import { dataLogInputSchema, receivedUploadSchema } from './base/contract/data-log.ts'
import { operations } from './base/contract/operations.ts'
import type { ReceivedProfile } from './base/contract/profile.ts'
import type { receivedScoreSchema, scoreAnswerSchema } from './base/contract/score.ts'
import type { receivedTrendSchema, trendAnswerSchema } from './base/contract/trend.ts'
import { UsageProblem } from './base/errors.ts'
import { parseInstant } from './base/time/instant.ts'
import { openLoneUpstream } from './pipeline/upstream/lone-upstream.ts'

/**
 * `vitalsync/client`: the client of the pipeline for programs of others. Tokens and the request budget live in this process;
 * retries, renewals and limits are those of docs/reference/upstream.md. The exports of this file follow SemVer.
 */
export type ClientOptions = {
  /** The base address, without /api/v1. */
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
  readonly requestsPerSecond?: number
  readonly requestsInFlight?: number
}

/**
 * A record is checked by the fields that identify it, and by the kinds of values of the others (`Received`). Lists of parts, such as the
 * factors of a score, have the type of the interface (`Described`), and are not checked.
 */
type ClientRecord<Received, Described, Lists extends keyof Received & keyof Described> = Omit<
  Named<Received>,
  Lists
> & {
  [List in Lists]?: Described[List] | null | undefined
} & { readonly [other: string]: unknown }

/** The named fields of a type that also takes others. */
type Named<T> = { [Key in keyof T as string extends Key ? never : Key]: T[Key] }

/** The records of each kind, as the interface describes them. Fields that it does not name are kept. */
export type ClientRecords = {
  scores: ClientRecord<
    z.output<typeof receivedScoreSchema>,
    z.output<typeof scoreAnswerSchema>,
    'factors' | 'dataSources'
  >
  biomarkers: ClientRecord<z.output<typeof receivedBiomarkerSchema>, z.output<typeof biomarkerAnswerSchema>, never>
  archetypes: ClientRecord<z.output<typeof receivedArchetypeSchema>, z.output<typeof archetypeAnswerSchema>, never>
  trends: ClientRecord<z.output<typeof receivedTrendSchema>, z.output<typeof trendAnswerSchema>, 'data'>
  comparisons: ClientRecord<z.output<typeof receivedComparisonSchema>, z.output<typeof comparisonAnswerSchema>, 'data'>
}

const kinds: readonly string[] = [
  'scores',
  'biomarkers',
  'archetypes',
  'trends',
  'comparisons',
] satisfies ReadonlyArray<keyof ClientRecords>

/** An instant: a Date, or a text such as 2026-07-11 (UTC) or 2026-07-11T00:00:00+12:00. */
export type ClientInstant = Date | string

type LogInput = z.input<typeof dataLogInputSchema>
type LogInstants = 'startDateTime' | 'endDateTime' | 'postDateTime' | 'modifiedDateTime'

/** A data log as the interface takes it. */
export type ClientLog = {
  readonly [Key in keyof LogInput]: Key extends LogInstants ? LogInput[Key] | Date : LogInput[Key]
}

export type ClientReading<R> = {
  readonly records: readonly R[]
  /** Records that do not fit the interface: where, and why, without their values. */
  readonly invalid: ReadonlyArray<{ readonly path: string; readonly reason: string }>
  /** `pending` while upstream still derives from what was pushed; undefined where it sends no `derivation-state`. */
  readonly word: 'finished' | 'pending' | undefined
}

export type ClientQuery = { readonly externalId: string; readonly from: ClientInstant; readonly to: ClientInstant }
type Callable = { readonly signal?: AbortSignal | undefined }

export type UpstreamClient = {
  /** One kind of derived data of a person; `from` and `to` are both included. */
  read<K extends keyof ClientRecords>(kind: K, query: ClientQuery & Callable): Promise<ClientReading<ClientRecords[K]>>
  profile(externalId: string, options?: Callable): Promise<ReceivedProfile>
  /** All people of the account, page by page. */
  profiles(options?: Callable & { readonly search?: string }): AsyncIterable<readonly ReceivedProfile[]>
  /** Takes a person in. Never sent twice. */
  register(externalId: string, options?: Callable): Promise<void>
  /** Data logs of a person: at most 90 of them and 150 KB. */
  pushLogs(externalId: string, logs: readonly ClientLog[], options?: Callable): Promise<void>
  /** Removes people for good. */
  deleteProfiles(externalIds: readonly string[], options?: Callable): Promise<void>
  close(): Promise<void>
}

const logStream = { operation: operations.uploadLogs, schema: dataLogInputSchema, answer: receivedUploadSchema }

const requestsPerSecondDefault = 50
const requestsInFlightDefault = 16

/**
 * Errors are those of docs/reference/upstream.md: each has a message, a `hint` that says what to do, and, where upstream has answered, its `status`
 * and `requestId`.
 */
export function openClient(options: ClientOptions): UpstreamClient {
  const { url, clientId, clientSecret } = options
  const limits = {
    requestsPerSecond: options.requestsPerSecond ?? requestsPerSecondDefault,
    inFlight: options.requestsInFlight ?? requestsInFlightDefault,
  }
  const upstream = openLoneUpstream({ url, clientId, clientSecret, limits })
  const call = ({ signal }: Callable = {}) => ({ lane: 'manual', signal }) as const
  /** Tokens of people are kept by the name that upstream knows them by. */
  const person = (externalId: string) => ({ profileId: externalId, externalId })
  return {
    async read(kind, { externalId, from, to, signal }) {
      const window = { startMs: msOf('from', from), endMs: msOf('to', to) }
      if (window.startMs >= window.endMs)
        throw new UsageProblem(`read ${kind}: from does not lie before to`, {
          hint: 'Give an earlier from, or a later to.',
        })
      const reading = await upstream.read(streamOf(kind), { ...person(externalId), window }, call({ signal }))
      // The collector has held each record against the schema of its stream.
      const records = reading.records.map(({ fields }) => fields as ClientRecords[typeof kind])
      return { records, invalid: reading.invalid.map(({ path, reason }) => ({ path, reason })), word: reading.word }
    },
    profile: (externalId, given) => upstream.profile(externalId, call(given)),
    profiles: ({ search, ...given } = {}) =>
      upstream.searchProfiles(search === undefined ? {} : { searchParameter: search }, call(given)),
    register: (externalId, given) => upstream.register(person(externalId), call(given)),
    pushLogs: async (externalId, items, given) =>
      void (await upstream.pushItems(person(externalId), { stream: logStream, items }, call(given))),
    deleteProfiles: (externalIds, given) => upstream.deleteProfiles(externalIds, call(given)),
    close: () => upstream.close(),
  }
}

function streamOf(kind: keyof ClientRecords) {
  const stream = kinds.includes(kind) ? pulledStreams.find(({ name }) => name === kind) : undefined
  if (stream) return stream
  throw new UsageProblem(`read ${kind}: there is no such kind`, { hint: `It is one of ${kinds.join(', ')}.` })
}

function msOf(name: 'from' | 'to', instant: ClientInstant): number {
  const ms = instant instanceof Date ? instant.getTime() : parseInstant(String(instant))?.epochMs
  if (ms !== undefined && !Number.isNaN(ms)) return ms
  throw new UsageProblem(`read: ${name} is no instant`, {
    hint: 'Give a Date, or a text such as 2026-07-11 or 2026-07-11T00:00:00+12:00.',
  })
}
