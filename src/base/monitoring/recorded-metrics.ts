/**
 * The metrics that the program records through the OpenTelemetry interface, by the name under which it records it, and the Prometheus
 * metric that it becomes. An instrument that is not listed here, and an attribute that no label names, are recorded by
 * nobody: so no label can appear that nobody thought of.
 */
export type RecordedMetric = {
  readonly name: string
  readonly help: string
  /** For each label its attributes: the first that is present gives the value. */
  readonly labels: Readonly<Record<string, readonly string[]>>
  /** Series that are exported as 0 from the start: an alert must see their first increase. */
  readonly initial?: ReadonlyArray<Readonly<Record<string, string>>>
  /** Bounds of a histogram's buckets. */
  readonly buckets?: readonly number[]
}

const label = (...names: string[]) => Object.fromEntries(names.map((name) => [name, [name]]))
const secondsUpTo = (most: number) =>
  [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600].filter((bound) => bound <= most)

export const recordedCounters: Readonly<Record<string, RecordedMetric>> = {
  'vitalsync.jobs': {
    name: 'vitalsync_jobs_total',
    help: 'Attempts at jobs that ended, by outcome: done, again, failed, halted',
    labels: label('job', 'lane', 'outcome'),
  },
  'vitalsync.refused': {
    name: 'vitalsync_refused_total',
    help: 'Windows and items that upstream refused, in jobs that went on',
    labels: label('job'),
  },
  'vitalsync.items.pushed': {
    name: 'vitalsync_items_pushed_total',
    help: 'Items that upstream accepted',
    labels: {},
  },
  'vitalsync.upstream.requests': {
    name: 'vitalsync_upstream_requests_total',
    help: 'Requests to upstream by operation, status and attempt; without an answer the status says why',
    labels: { ...label('operation', 'attempt'), status: ['http.response.status_code', 'error.type'] },
  },
  'vitalsync.upstream.repeats': {
    name: 'vitalsync_upstream_repeats_total',
    help: 'Requests that were sent again',
    labels: label('operation'),
  },
  'vitalsync.upstream.renewals': {
    name: 'vitalsync_upstream_renewals_total',
    help: 'Renewals of tokens by outcome; adopted: another process had renewed it',
    labels: label('kind', 'outcome'),
    initial: ['account', 'profile'].flatMap((kind) =>
      ['obtained', 'adopted', 'failed', 'halted'].map((outcome) => ({ kind, outcome })),
    ),
  },
  'vitalsync.upstream.odd_records': {
    name: 'vitalsync_upstream_invalid_records_total',
    help: 'Records of upstream that do not fit the contract',
    labels: label('stream'),
  },
  'vitalsync.rows': {
    name: 'vitalsync_rows_total',
    help: 'Rows of readings, by what came of them: read, written, unchanged, gone',
    labels: label('stream', 'change'),
  },
  'vitalsync.verified.windows': {
    name: 'vitalsync_verified_windows_total',
    help: 'Covered windows that chance drew and that were read again, by outcome',
    labels: label('stream', 'outcome'),
  },
  'vitalsync.verified.differing_records': {
    name: 'vitalsync_verified_differing_records_total',
    help: 'Records in these windows that differed, by cause',
    labels: label('stream', 'cause'),
  },
  'vitalsync.slots.missed': {
    name: 'vitalsync_slots_missed_total',
    help: 'Slots that no scheduler took in time, made up later or not',
    labels: label('schedule'),
  },
}

export const recordedHistograms: Readonly<Record<string, RecordedMetric>> = {
  'vitalsync.job.duration': {
    name: 'vitalsync_job_duration_seconds',
    help: 'Time from the start to the end of an attempt at a job',
    labels: label('job'),
    buckets: secondsUpTo(600),
  },
  'vitalsync.upstream.request.duration': {
    name: 'vitalsync_upstream_request_duration_seconds',
    help: 'Time from sending a request to the last byte of its answer',
    labels: label('operation'),
    buckets: secondsUpTo(60),
  },
  'vitalsync.upstream.budget.wait': {
    name: 'vitalsync_upstream_budget_wait_seconds',
    help: 'Time that requests waited for a permit of the budget, of those that waited',
    labels: label('lane'),
    buckets: secondsUpTo(30),
  },
  'vitalsync.commit.duration': {
    name: 'vitalsync_commit_duration_seconds',
    help: 'Time of the transactions that store readings',
    labels: {},
    buckets: secondsUpTo(30),
  },
  'vitalsync.commit.rows': {
    name: 'vitalsync_commit_rows',
    help: 'Rows of all readings of one transaction',
    labels: {},
    buckets: [1, 10, 100, 500, 1000, 2500, 5000, 10_000],
  },
}
