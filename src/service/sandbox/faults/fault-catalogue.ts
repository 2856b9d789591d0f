/**
 * All faults that can be injected. `when` is the point at which a fault strikes: `door`, a public value of `GET /__control`,
 * on the request before the work is done; `answer` on the response, after the work is done and stored; `records` on the
 * records of the response; `frame` on its headers, its coding and the body of an error, however the request ended.
 * `settings` are numbers with their defaults; a rule may set other values.
 */
export const faultCatalogue = {
  latency: { when: 'door', settings: { delayMs: 250 }, what: 'The answer comes later by `delayMs`.' },
  'expired-token': {
    when: 'door',
    settings: {},
    what: 'The token in the request is expired from now on: 401 until the caller has another token. A refresh still accepts it, like any expired token.',
  },
  'revoked-token': {
    when: 'door',
    settings: {},
    what: 'The token in the request is revoked from now on, for a refresh too.',
  },
  throttle: {
    when: 'door',
    settings: { retryAfterSeconds: 2 },
    what: '429 with `Retry-After` in seconds.',
  },
  'throttle-date': {
    when: 'door',
    settings: { retryAfterSeconds: 2 },
    what: '429 with `Retry-After` as an HTTP date, `retryAfterSeconds` ahead.',
  },
  'error-500': { when: 'door', settings: {}, what: '500 before the work is done.' },
  'error-502': { when: 'door', settings: {}, what: '502 with an HTML body, as a gateway sends it.' },
  'error-503': {
    when: 'door',
    settings: { retryAfterSeconds: 0 },
    what: '503; with `Retry-After` when `retryAfterSeconds` is above 0.',
  },
  'error-504': { when: 'door', settings: {}, what: '504 with an HTML body.' },
  reset: { when: 'door', settings: {}, what: 'The connection is reset before the work is done.' },
  'lost-answer': {
    when: 'answer',
    settings: {},
    what: 'The work is done and stored, then the connection is reset without an answer.',
  },
  'slow-body': {
    when: 'answer',
    settings: { pieces: 8, delayMs: 100 },
    what: 'The body comes in `pieces`, with `delayMs` before each piece.',
  },
  'cut-body': {
    when: 'answer',
    settings: {},
    what: 'Half of the announced body comes, then the connection ends.',
  },
  'malformed-body': { when: 'answer', settings: {}, what: 'A complete body, with status 200, that is not JSON.' },
  duplicates: { when: 'records', settings: {}, what: 'Selected records occur twice in one answer.' },
  late: {
    when: 'records',
    settings: { hours: 12 },
    what: 'Selected records are not served until `hours` after the end of their period.',
  },
  revised: {
    when: 'records',
    settings: { hours: 12 },
    what: 'Selected records have a preliminary value until `hours` after the end of their period, then the right value.',
  },
  vanished: {
    when: 'records',
    settings: { hours: 0 },
    what: 'Selected records are no longer served from `hours` after the end of their period on.',
  },
  'failed-derivation': {
    when: 'records',
    settings: {},
    what: 'Selected records are never derived, though the answer says that the derivation is finished.',
  },
  'odd-records': {
    when: 'records',
    settings: {},
    what: 'Selected records have an unreadable date and so violate the contract; the other records stay valid.',
  },
  'empty-200': { when: 'records', settings: {}, what: '200 with `[]` instead of 204.' },
  'exclusive-end': {
    when: 'records',
    settings: {},
    what: '`endDateTime` is exclusive: a record that starts at `endDateTime` is not served.',
  },
  'old-names': {
    when: 'records',
    settings: {},
    what: 'Scores have `score` instead of `value` and `createdAtUtc` instead of `createdAt`.',
  },
  'bare-token': { when: 'records', settings: {}, what: 'The account token comes without `expiresIn`.' },
  'pages-from-zero': { when: 'records', settings: {}, what: 'The pages of a search count from 0.' },
  'whole-seconds': { when: 'records', settings: {}, what: 'Instants of records are cut to whole seconds.' },
  'without-ids': { when: 'records', settings: {}, what: 'Records come without `id`.' },
  'drift-new-field': { when: 'records', settings: {}, what: 'Records have a further field, `confidence`.' },
  'drift-new-type': {
    when: 'records',
    settings: {},
    what: 'Beside each record of `sleep`, `steps` or `activity_level` comes one of a further type, `recovery`.',
  },
  'drift-renamed-field': {
    when: 'records',
    settings: {},
    what: '`value`, or `state` where there is no `value`, is named `reading`.',
  },
  'drift-unit': {
    when: 'records',
    settings: {},
    what: 'Values come in another unit: hours for minutes, kJ for kcal.',
  },
  'drift-number-as-text': { when: 'records', settings: {}, what: 'Numbers come as texts.' },
  'drift-enum-case': { when: 'records', settings: {}, what: 'States, categories and periodicities are in capitals.' },
  'drift-null': { when: 'records', settings: {}, what: 'Fields that were absent are null.' },
  'drift-precision': {
    when: 'records',
    settings: {},
    what: 'Instants have seven digits of a second, numbers one decimal at most.',
  },
  'drift-order': { when: 'records', settings: {}, what: 'The oldest record comes first.' },
  'drift-pages': {
    when: 'records',
    settings: { records: 20 },
    what: 'An answer has at most `records` records, and `Link` names the next page.',
  },
  'drift-error-shape': { when: 'frame', settings: {}, what: 'Errors come as `application/problem+json`.' },
  'without-tags': { when: 'frame', settings: {}, what: 'Answers have no `ETag`, and `If-None-Match` has no effect.' },
  'without-derivation-state': { when: 'frame', settings: {}, what: 'Answers have no `derivation-state`.' },
  'without-date': { when: 'frame', settings: {}, what: 'Answers have no `Date`.' },
  'without-request-ids': { when: 'frame', settings: {}, what: 'Answers have no `x-request-id`.' },
  'without-query-notes': { when: 'frame', settings: {}, what: 'Answers have no `query-notes`.' },
  'without-retry-after': { when: 'frame', settings: {}, what: 'A 429 or a 503 has no `Retry-After`.' },
  'without-error-bodies': { when: 'frame', settings: {}, what: 'Errors have no body.' },
  'without-compression': { when: 'frame', settings: {}, what: 'Answers are not compressed.' },
  'without-explanations': { when: 'frame', settings: {}, what: 'The route that explains a score is not there.' },
} as const satisfies Record<
  string,
  { when: 'door' | 'answer' | 'records' | 'frame'; settings: Record<string, number>; what: string }
>

export type FaultName = keyof typeof faultCatalogue

/** All that our service says beyond what the interface asks for, each switched off by its fault: `--plain`. */
export const plainFaults = [
  'bare-token',
  'without-ids',
  'without-tags',
  'without-derivation-state',
  'without-date',
  'without-request-ids',
  'without-query-notes',
  'without-retry-after',
  'without-error-bodies',
  'without-compression',
  'without-explanations',
] as const satisfies readonly FaultName[]

/** The kinds of change that come with a release of an upstream. */
export const driftFaults = [
  'drift-new-field',
  'drift-new-type',
  'drift-renamed-field',
  'drift-unit',
  'drift-number-as-text',
  'drift-enum-case',
  'drift-null',
  'drift-precision',
  'drift-order',
  'duplicates',
  'drift-pages',
  'drift-error-shape',
] as const satisfies readonly FaultName[]

export const faultNames = Object.keys(faultCatalogue) as FaultName[] // the keys of a literal are its names

export const isFaultName = (name: string): name is FaultName => Object.hasOwn(faultCatalogue, name)
