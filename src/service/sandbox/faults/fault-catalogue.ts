type Moment = 'door' | 'answer' | 'records' | 'frame'

const faultAt =
  (when: Moment) =>
  (what: string, settings: Readonly<Record<string, number>> = {}) => ({ when, settings, what })
const door = faultAt('door')
const answer = faultAt('answer')
const records = faultAt('records')
const frame = faultAt('frame')

/**
 * All faults that can be injected, each by the point at which it strikes, `when` in `GET /__control`: at the `door`, on the request
 * before the work is done; on the `answer`, after the work is done and stored; on the `records` of the answer; on its `frame`, which
 * is its headers, its coding and the body of an error, however the request ended. Settings are numbers with their defaults; a rule may
 * set other values.
 */
export const faultCatalogue = {
  latency: door('The answer comes later by `delayMs`.', { delayMs: 250 }),
  'expired-token': door(
    'The token in the request is expired from now on: 401 until the caller has another token. A refresh still accepts it, like any expired token.',
  ),
  'revoked-token': door('The token in the request is revoked from now on, for a refresh too.'),
  throttle: door('429 with `Retry-After` in seconds.', { retryAfterSeconds: 2 }),
  'throttle-date': door('429 with `Retry-After` as an HTTP date, `retryAfterSeconds` ahead.', { retryAfterSeconds: 2 }),
  'error-500': door('500 before the work is done.'),
  'error-502': door('502 with an HTML body, as a gateway sends it.'),
  'error-503': door('503; with `Retry-After` when `retryAfterSeconds` is above 0.', { retryAfterSeconds: 0 }),
  'error-504': door('504 with an HTML body.'),
  reset: door('The connection is reset before the work is done.'),
  'lost-answer': answer('The work is done and stored, then the connection is reset without an answer.'),
  'slow-body': answer('The body comes in `pieces`, with `delayMs` before each piece.', { pieces: 8, delayMs: 100 }),
  'cut-body': answer('Half of the announced body comes, then the connection ends.'),
  'malformed-body': answer('A complete body, with status 200, that is not JSON.'),
  duplicates: records('Selected records occur twice in one answer.'),
  late: records('Selected records are not served until `hours` after the end of their period.', { hours: 12 }),
  revised: records(
    'Selected records have a preliminary value until `hours` after the end of their period, then the right value.',
    { hours: 12 },
  ),
  vanished: records('Selected records are no longer served from `hours` after the end of their period on.', {
    hours: 0,
  }),
  'failed-derivation': records(
    'Selected records are never derived, though the answer says that the derivation is finished.',
  ),
  'odd-records': records(
    'Selected records have an unreadable date and so violate the contract; the other records stay valid.',
  ),
  'empty-200': records('200 with `[]` instead of 204.'),
  'exclusive-end': records('`endDateTime` is exclusive: a record that starts at `endDateTime` is not served.'),
  'old-names': records('Scores have `score` instead of `value` and `createdAtUtc` instead of `createdAt`.'),
  'bare-token': records('The account token comes without `expiresIn`.'),
  'pages-from-zero': records('The pages of a search count from 0.'),
  'whole-seconds': records('Instants of records are cut to whole seconds.'),
  'without-ids': records('Records come without `id`.'),
  'drift-new-field': records('Records have a further field, `confidence`.'),
  'drift-new-type': records(
    'Beside each record of `sleep`, `steps` or `activity_level` comes one of a further type, `recovery`.',
  ),
  'drift-renamed-field': records('`value`, or `state` where there is no `value`, is named `reading`.'),
  'drift-unit': records('Values come in another unit: hours for minutes, kJ for kcal.'),
  'drift-number-as-text': records('Numbers come as texts.'),
  'drift-enum-case': records('States, categories and periodicities are in capitals.'),
  'drift-null': records('Fields that were absent are null.'),
  'drift-precision': records('Instants have seven digits of a second, numbers one decimal at most.'),
  'drift-order': records('The oldest record comes first.'),
  'drift-pages': records('An answer has at most `records` records, and `Link` names the next page.', { records: 20 }),
  'drift-error-shape': frame('Errors come as `application/problem+json`.'),
  'without-tags': frame('Answers have no `ETag`, and `If-None-Match` has no effect.'),
  'without-derivation-state': frame('Answers have no `derivation-state`.'),
  'without-date': frame('Answers have no `Date`.'),
  'without-request-ids': frame('Answers have no `x-request-id`.'),
  'without-query-notes': frame('Answers have no `query-notes`.'),
  'without-retry-after': frame('A 429 or a 503 has no `Retry-After`.'),
  'without-error-bodies': frame('Errors have no body.'),
  'without-compression': frame('Answers are not compressed.'),
  'without-explanations': frame('The route that explains a score is not there.'),
} as const

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

export const faultNames = Object.keys(faultCatalogue) as FaultName[] // the keys of a literal are its names

export const isFaultName = (name: string): name is FaultName => Object.hasOwn(faultCatalogue, name)
