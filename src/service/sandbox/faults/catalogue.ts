/**
 * Everything that can be made to go wrong. `when` says where in a request's life it happens:
 * `door` before anything is done, `answer` after the work was done and its effect is kept, `records` in what is told.
 * `settings` are numbers with their defaults; a rule may give others.
 */
export const faults = {
  latency: { when: 'door', settings: { delayMs: 250 }, what: 'The answer comes later by `delayMs`.' },
  'expired-token': {
    when: 'door',
    settings: {},
    what: 'The token in the request is dead from now on: 401 until the caller has another. Refreshing still takes it, as it does with any expired token.',
  },
  'revoked-token': {
    when: 'door',
    settings: {},
    what: 'The token in the request is dead from now on, for refreshing too.',
  },
  throttle: {
    when: 'door',
    settings: { retryAfterSeconds: 2 },
    what: '429 with `Retry-After` in seconds.',
  },
  'throttle-date': {
    when: 'door',
    settings: { retryAfterSeconds: 2 },
    what: '429 with `Retry-After` as an HTTP date, so many seconds ahead.',
  },
  'error-500': { when: 'door', settings: {}, what: '500 before anything was done.' },
  'error-502': { when: 'door', settings: {}, what: '502 with an HTML body, as a gateway in between would send it.' },
  'error-503': {
    when: 'door',
    settings: { retryAfterSeconds: 0 },
    what: '503; with `Retry-After` when `retryAfterSeconds` is above 0.',
  },
  'error-504': { when: 'door', settings: {}, what: '504 with an HTML body.' },
  reset: { when: 'door', settings: {}, what: 'The connection is reset before anything was done.' },
  'lost-answer': {
    when: 'answer',
    settings: {},
    what: 'The work is done and kept, then the connection is reset instead of answering.',
  },
  'slow-body': {
    when: 'answer',
    settings: { pieces: 8, delayMs: 100 },
    what: 'The body comes in `pieces`, with `delayMs` before each.',
  },
  'cut-body': {
    when: 'answer',
    settings: {},
    what: 'Half the promised body comes, then the connection ends.',
  },
  'malformed-body': { when: 'answer', settings: {}, what: 'A whole body, with status 200, that is no JSON.' },
  duplicates: { when: 'records', settings: {}, what: 'Chosen records stand twice in one answer.' },
  late: {
    when: 'records',
    settings: { hours: 12 },
    what: 'Chosen records are not told until `hours` after the end of their period.',
  },
  revised: {
    when: 'records',
    settings: { hours: 12 },
    what: 'Chosen records have a preliminary value until `hours` after the end of their period, then the right one.',
  },
  vanished: {
    when: 'records',
    settings: { hours: 0 },
    what: 'Chosen records are no longer told once `hours` have passed since the end of their period.',
  },
  'odd-records': {
    when: 'records',
    settings: {},
    what: 'Chosen records lack a readable date, so that they fit no contract; their neighbours are as ever.',
  },
  'empty-200': { when: 'records', settings: {}, what: '200 with `[]` where 204 is due.' },
  'exclusive-end': {
    when: 'records',
    settings: {},
    what: '`endDateTime` is read as exclusive: a record that starts at it is not told.',
  },
  'old-names': {
    when: 'records',
    settings: {},
    what: 'Scores come with `score` for `value` and `createdAtUtc` for `createdAt`.',
  },
  'bare-token': { when: 'records', settings: {}, what: 'The account token comes alone, without `expiresIn`.' },
  'pages-from-zero': { when: 'records', settings: {}, what: 'The pages of a search are counted from 0.' },
} as const satisfies Record<
  string,
  { when: 'door' | 'answer' | 'records'; settings: Record<string, number>; what: string }
>

export type FaultName = keyof typeof faults

export const faultNames = Object.keys(faults) as FaultName[] // the keys of a literal are its names

export const isFaultName = (name: string): name is FaultName => Object.hasOwn(faults, name)
