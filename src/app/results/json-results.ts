import { z } from 'zod'
import { explanationSchema } from '../../base/contract/score-explanation.ts'
import { gapReasons } from '../../pipeline/ledger/coverage-gaps.ts'
import { emptyCauses } from '../../pipeline/ledger/empty-causes.ts'
import { misfitKinds } from '../../pipeline/transfer/misfits.ts'
import { doctorResult } from './doctor-result.ts'
import { entriesImportResult, healthImportResult } from './import-result.ts'
import { causeEvidence, count, instant, share } from './result-fields.ts'
import { silenceResult } from './silence-result.ts'
import { addedColumn, runResult, statusResult } from './status-result.ts'
import { whyResult } from './why-result.ts'

/** Spearman's ρ, with its interval where there is one. */
const correlation = z.strictObject({
  rho: z.number().nullable(),
  from: z.number().nullable(),
  upTo: z.number().nullable(),
  n: z.int(),
  persons: z.int(),
})

const evaluatedValue = z.strictObject({
  kind: z.enum(['score', 'factor', 'biomarker']),
  name: z.string(),
  all: correlation,
  within: correlation,
  lagged: correlation,
})

/** The public shape of the output of `evaluate --json`. */
const evaluationResult = z.strictObject({
  figures: z.int(),
  persons: z.int(),
  personsUnknown: z.int(),
  references: z.array(z.strictObject({ name: z.string(), values: z.array(evaluatedValue) })),
})

const profileResult = z.strictObject({
  profileId: z.string(),
  externalId: z.string(),
  state: z.enum(['new', 'active', 'gone']),
  wantedFrom: instant,
  addedAt: instant,
  finishedAt: instant.nullable(),
  dueAt: instant,
  failures: count,
  refused: count,
  quarantined: count,
  waiting: count,
})

const failure = z.strictObject({
  id: z.string(),
  kind: z.enum(['job', 'window']),
  externalId: z.string(),
  cause: z.string(),
  subject: z.string(),
  startAt: instant.nullable(),
  endAt: instant.nullable(),
  backfill: z.strictObject({ streams: z.array(z.string()).nullable(), again: z.boolean() }).nullable(),
  status: z.int().nullable(),
  reason: z.string(),
  hint: z.string().nullable(),
  attempts: count,
  firstAt: instant,
  lastAt: instant,
  nextTryAt: instant.nullable(),
})

const quarantined = z.strictObject({
  id: z.string(),
  externalId: z.string(),
  cause: z.string(),
  stream: z.string(),
  direction: z.enum(['push', 'pull']),
  path: z.string(),
  reason: z.string(),
  times: count,
  firstSeenAt: instant,
  lastSeenAt: instant,
})

const plan = z.strictObject({
  profiles: count,
  fromAt: instant.nullable(),
  toAt: instant.nullable(),
  windows: count,
  covered: count,
  requests: count,
  itemsWaiting: count,
  requestsPerSecond: z.number().nullable(),
  seconds: z.number().nonnegative(),
  measuredPerSecond: z.number().nullable(),
  expectedSeconds: z.number().nonnegative(),
  streams: z.array(z.strictObject({ stream: z.string(), windows: count, covered: count })),
})

const addedCounts = z.strictObject({ read: count, added: count, known: count, erased: count, rejected: count })

const sandboxAddress = {
  url: z.string(),
  clientId: z.string(),
  clientSecret: z.string(),
  appId: z.string(),
  appSecret: z.string(),
}

/**
 * The public shape of the results that `--json` prints, by command. Fields are added, never renamed or removed. A list is
 * printed as one object a line, every other result as one object.
 */
export const jsonResultSchemas = {
  doctor: doctorResult,
  explain: explanationSchema,
  evaluate: evaluationResult,
  'explain settle': z.strictObject({
    stream: z.string(),
    settleSeconds: z.number(),
    basis: z.enum(['fallback', 'measured', 'extrapolated', 'longer']),
    fallbackSeconds: z.number(),
    days: count,
    watched: count,
    changedLater: count,
    computedAt: instant.nullable(),
  }),
  sandbox: z.strictObject({ ...sandboxAddress, controlUrl: z.string(), controlToken: z.string() }),
  'sandbox people': z.strictObject({ file: z.string(), timeZone: z.string(), days: count, format: z.string() }),
  'sandbox planned': z.strictObject({ folder: z.string(), people: count, days: count, logs: count }),
  dashboard: z.strictObject({ url: z.string() }),
  'dashboard password': z.strictObject({ line: z.string() }),
  service: z.strictObject({ url: z.string() }),
  'service keys create': z.union([
    z.strictObject({ clientId: z.string(), clientSecret: z.string() }),
    z.strictObject({ appId: z.string(), appSecret: z.string() }),
  ]),
  'service keys list': z.array(
    z.strictObject({
      publicId: z.string(),
      kind: z.enum(['client', 'app']),
      account: z.string(),
      label: z.string(),
      createdAt: instant,
      revokedAt: instant.nullable(),
    }),
  ),
  'service sources': z.strictObject({ sources: z.array(z.string()), profiles: count }),
  up: z.strictObject({ run: runResult, rows: z.record(z.string(), count) }),
  migrate: z.strictObject({
    applied: z.array(z.string()),
    readerGranted: z.boolean(),
    /** With `--distribute`. */
    distribution: z.strictObject({ shards: z.number(), moved: z.array(z.string()) }).optional(),
    /** With `--check`, which applies nothing. */
    check: z.strictObject({ missing: z.array(z.string()), breaking: z.array(z.string()) }).optional(),
  }),
  sync: runResult,
  backfill: runResult,
  plan,
  runs: runResult,
  status: statusResult,
  why: whyResult,
  sql: z.record(z.string(), z.unknown()),
  gaps: z.strictObject({
    externalId: z.string(),
    stream: z.string(),
    startAt: instant,
    endAt: instant,
    reason: z.enum([...gapReasons, 'empty']),
    detail: z.string().nullable(),
    nextTryAt: instant.nullable(),
    cause: z.enum(emptyCauses).optional(),
    evidence: causeEvidence.optional(),
  }),
  verify: z.strictObject({
    seed: count,
    asked: count,
    drawn: count,
    windows: count,
    windowsDiffering: count,
    windowsMended: count,
    records: count,
    missingHere: count,
    differing: count,
    missingUpstream: count,
    unreadable: count,
    rate: share.nullable(),
    rateFrom: share.nullable(),
    rateUpTo: share.nullable(),
    differences: z.array(
      z.strictObject({
        externalId: z.string(),
        stream: z.string(),
        startAt: instant,
        endAt: instant,
        records: count,
        lostHere: count,
        changedUpstream: count,
        lateUpstream: count,
        mended: z.boolean(),
      }),
    ),
  }),
  'failures list': failure,
  'failures show': failure,
  'failures retry': z.strictObject({ retried: count, enqueued: count }),
  'failures discard': z.strictObject({ discarded: count }),
  'quarantine list': quarantined,
  'quarantine show': quarantined.extend({ body: z.string() }),
  'quarantine discard': z.strictObject({ discarded: count }),
  'quarantine replay': z.strictObject({ pushed: count, stored: count, reread: count }),
  'drift list': z.strictObject({
    id: z.string(),
    stream: z.string(),
    what: z.enum(misfitKinds),
    path: z.string(),
    detail: z.string(),
    people: count,
    records: count,
    firstSeenAt: instant,
    lastSeenAt: instant,
    cameAgainAt: instant.nullable(),
    exampleExternalId: z.string().nullable(),
    exampleDate: z.string().nullable(),
    acceptedAt: instant.nullable(),
    acceptedBy: z.string().nullable(),
  }),
  'drift accept': z.strictObject({ accepted: count }),
  'columns add': addedColumn,
  'columns list': addedColumn,
  'columns drop': z.strictObject({ dropped: z.boolean() }),
  'profiles add': addedCounts,
  'profiles import': addedCounts,
  'profiles discover': z.strictObject({ pages: count, found: count, added: count }),
  'profiles list': profileResult,
  'profiles show': profileResult.extend({
    streams: z.array(
      z.strictObject({
        stream: z.string(),
        covered: z.string(),
        checkpoint: instant.nullable(),
        readAt: instant.nullable(),
      }),
    ),
  }),
  'profiles silent': silenceResult,
  'profiles erase': z.strictObject({
    removed: z.array(z.strictObject({ table: z.string(), rows: count })),
    queueJobs: count,
    upstream: z.enum(['gone', 'still there', 'not asked']),
    tombstone: z.boolean(),
    left: z.array(z.strictObject({ table: z.string(), rows: count })),
    complete: z.boolean(),
  }),
  import: z.union([entriesImportResult, healthImportResult]),
  'import formats': z.strictObject({ name: z.string(), title: z.string(), files: z.string() }),
  export: z.strictObject({
    streams: z.array(z.strictObject({ stream: z.string(), rows: count })),
    format: z.string(),
    output: z.string(),
    since: instant.nullable(),
    upto: instant,
  }),
} as const

type JsonResultSchemas = typeof jsonResultSchemas
export type JsonResultName = keyof JsonResultSchemas

/** A value that JSON.stringify turns into a result of this command: a Date becomes its ISO text. */
export type JsonResult<N extends JsonResultName> = BeforeStringify<z.output<JsonResultSchemas[N]>>

type BeforeStringify<T> = unknown extends T
  ? unknown
  : string extends T
    ? T | Date
    : T extends ReadonlyArray<infer E>
      ? ReadonlyArray<BeforeStringify<E>>
      : T extends object
        ? { readonly [K in keyof T]: BeforeStringify<T[K]> }
        : T
