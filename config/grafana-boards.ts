import { mkdir, writeFile } from 'node:fs/promises'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'

/** A panel: title, unit (± where it may be negative), expressions by their legend, its alert. */
type Panel = readonly [title: string, unit: string, lines: Readonly<Record<string, string>>, description?: string]
type Board = { readonly title: string; readonly description: string; readonly panels: readonly Panel[] }

const p95 = (metric: string, by: string) =>
  `histogram_quantile(0.95, sum by (${by}) (rate(vitalsync_${metric}_seconds_bucket[5m])))`

/** The three dashboards for Grafana, by the name of their file. `npm run boards` writes the files. */
const boards: Readonly<Record<string, Board>> = {
  night: {
    title: 'vitalsync: the night',
    description: 'Does the night get on, and is it on time? Facts of the fleet are joined by max.',
    panels: [
      [
        'Not ready, by reason',
        'short',
        { '{{reason}}': 'max by (reason) (vitalsync_unready)' },
        '/ready of the process says it in words',
      ],
      [
        'Time since the last nightly ended',
        's',
        { since: 'time() - max(vitalsync_last_nightly_timestamp_seconds)' },
        'Alert NightlyLate at 26 hours',
      ],
      ['Slots that nobody has taken', 'short', { '{{schedule}}': 'max by (schedule) (vitalsync_slots_overdue)' }],
      ['Jobs in the queue', 'short', { '{{lane}}': 'sum by (lane) (max by (lane, state) (vitalsync_queue_jobs))' }],
      ['Age of the oldest waiting job', 's', { '{{lane}}': 'max by (lane) (vitalsync_queue_oldest_seconds)' }],
      [
        'Jobs that runs still wait for',
        'short',
        { '{{kind}}': 'max by (kind) (vitalsync_run_jobs_left) or vector(0)' },
      ],
      ['Jobs that ended', 'ops', { '{{outcome}}': 'sum by (outcome) (rate(vitalsync_jobs_total[5m]))' }],
      ['Time of a job, 95 %', 's', { '{{job}}': p95('job_duration', 'job, le') }],
      ['Profiles due', 'short', { due: 'max(vitalsync_profiles_due)' }],
      [
        'Age of the last reading, 95 % of profiles',
        's',
        { '{{stream}}': 'histogram_quantile(0.95, max by (stream, le) (vitalsync_reading_lag_profiles))' },
        'Alert LagOverADay',
      ],
      [
        'Age of the settled end, half of the profiles',
        's',
        { '{{stream}}': 'histogram_quantile(0.5, max by (stream, le) (vitalsync_coverage_lag_profiles))' },
      ],
      ['Rows', 'ops', { '{{change}}': 'sum by (change) (rate(vitalsync_rows_total[5m]))' }],
      ['Commits: time, 95 %', 's', { '95 %': p95('commit_duration', 'le') }],
      [
        'Commits: rows, mean',
        'short',
        { rows: 'sum(rate(vitalsync_commit_rows_sum[5m])) / sum(rate(vitalsync_commit_rows_count[5m]))' },
      ],
      ['Waiting to be pushed', 'short', { items: 'sum(max by (stream) (vitalsync_outbox_items)) or vector(0)' }],
      [
        'Refused windows, failures, quarantine',
        'short',
        {
          'refused windows': 'sum(max by (stream) (vitalsync_refusals))',
          'failed jobs': 'sum(max by (job) (vitalsync_failures)) or vector(0)',
          quarantine: 'sum(max by (direction, stream) (vitalsync_quarantine))',
        },
      ],
      ['Workers that show life', 'short', { workers: 'max(vitalsync_workers)' }],
      ['Clock off the database', '±s', { '{{instance}}': 'vitalsync_clock_skew_seconds' }, 'Alert ClockOff at 5 s'],
      ['Event loop delay, 99 %', 's', { '{{instance}}': 'vitalsync_nodejs_eventloop_lag_p99_seconds' }],
      ['Connections to the warehouse', 'short', { '{{state}}': 'sum by (state) (vitalsync_database_connections)' }],
      ['Largest tables', 'bytes', { '{{table}}': 'topk(5, max by (table) (vitalsync_table_bytes))' }],
    ],
  },
  upstream: {
    title: 'vitalsync: upstream',
    description: 'What is asked of upstream, how it answers, and what it is spared.',
    panels: [
      [
        'Requests by status',
        'reqps',
        { '{{status}}': 'sum by (status) (rate(vitalsync_upstream_requests_total[5m]))' },
      ],
      [
        'Requests by operation',
        'reqps',
        { '{{operation}}': 'sum by (operation) (rate(vitalsync_upstream_requests_total[5m]))' },
      ],
      ['Time of an answer, 95 %', 's', { '{{operation}}': p95('upstream_request_duration', 'operation, le') }],
      [
        'Sent again',
        'reqps',
        {
          'attempt {{attempt}}':
            'sum by (attempt) (rate(vitalsync_upstream_requests_total{attempt!="1"}[5m])) or vector(0)',
        },
      ],
      [
        'Budget: requests a second',
        'reqps',
        {
          'may be sent': 'max(vitalsync_budget_requests_per_second)',
          sent: 'sum(rate(vitalsync_upstream_requests_total[1m]))',
        },
      ],
      [
        'Budget: in flight',
        'short',
        { 'may be': 'max(vitalsync_budget_in_flight_max)', are: 'sum(vitalsync_budget_in_flight)' },
      ],
      ['Requests that wait for a permit', 'short', { '{{lane}}': 'sum by (lane) (vitalsync_budget_waiting)' }],
      ['Wait for a permit, 95 %', 's', { '{{lane}}': p95('upstream_budget_wait', 'lane, le') }],
      ['Pause that upstream asked for', 's', { left: 'max(vitalsync_budget_pause_seconds)' }],
      [
        'Renewals of tokens',
        'short',
        { '{{kind}} {{outcome}}': 'sum by (kind, outcome) (increase(vitalsync_upstream_renewals_total[15m]))' },
        'Alert RenewalFailing',
      ],
      ['Account refused', 'short', { refused: 'max(vitalsync_account_halted)' }],
      [
        'Silent differences, 30 days',
        'percentunit',
        { '{{bound}}': 'max by (bound) (vitalsync_silent_difference_ratio)' },
        'Alert SilentDifferences at 0.1 % of the lower end',
      ],
    ],
  },
  service: {
    title: 'vitalsync: Profile Service',
    description: 'How the service answers.',
    panels: [
      ['Requests by status', 'reqps', { '{{status}}': 'sum by (status) (rate(vitalsync_service_requests_total[5m]))' }],
      [
        'Requests by operation',
        'reqps',
        { '{{operation}}': 'sum by (operation) (rate(vitalsync_service_requests_total[5m]))' },
      ],
      [
        'Share of 5xx',
        'percentunit',
        {
          '5xx':
            '(sum(rate(vitalsync_service_requests_total{status=~"5.."}[5m])) or vector(0))' +
            ' / sum(rate(vitalsync_service_requests_total[5m]))',
        },
        'Alert ServiceFailing at 5 %',
      ],
      ['Time of a request, 95 %', 's', { '{{operation}}': p95('service_request', 'operation, le') }],
      [
        'Connections to the database',
        'short',
        { '{{state}}': 'sum by (state) (vitalsync_service_database_connections)' },
      ],
      ['Cache of answers', 'bytes', { '{{instance}}': 'sum by (instance) (vitalsync_service_kept_answer_bytes)' }],
      ['Event loop delay, 99 %', 's', { '{{instance}}': 'vitalsync_service_nodejs_eventloop_lag_p99_seconds' }],
      ['Memory', 'bytes', { '{{instance}}': 'vitalsync_service_process_resident_memory_bytes' }],
      ['Processors used', 'short', { '{{instance}}': 'rate(vitalsync_service_process_cpu_seconds_total[5m])' }],
    ],
  },
}

const datasource = { type: 'prometheus', uid: '$' + '{source}' }
const WIDTH = 8
const HEIGHT = 8
const COLUMNS = 3

const panelOf = ([title, unit, lines, description = '']: Panel, index: number) => ({
  id: index + 1,
  type: 'timeseries',
  title,
  description,
  datasource,
  gridPos: { x: (index % COLUMNS) * WIDTH, y: Math.floor(index / COLUMNS) * HEIGHT, w: WIDTH, h: HEIGHT },
  fieldConfig: { defaults: unit.startsWith('±') ? { unit: unit.slice(1) } : { unit, min: 0 }, overrides: [] },
  options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
  targets: Object.entries(lines).map(([legendFormat, expr], line) => ({
    refId: String.fromCharCode(65 + line),
    expr,
    legendFormat,
    datasource,
  })),
})

const boardOf = (name: string, { title, description, panels }: Board) => ({
  uid: `vitalsync-${name}`,
  title,
  description,
  tags: ['vitalsync'],
  timezone: 'utc',
  schemaVersion: 39,
  editable: true,
  refresh: '30s',
  time: { from: 'now-12h', to: 'now' },
  templating: { list: [{ name: 'source', label: 'Prometheus', type: 'datasource', query: 'prometheus' }] },
  panels: panels.map(panelOf),
})

/** The boards as Grafana imports them, by the name of their file. */
export const grafanaBoards = Object.entries(boards).map(([name, board]) => ({
  name: `${name}.json`,
  ...boardOf(name, board),
}))

if (argv[1] === fileURLToPath(import.meta.url)) {
  const folder = new URL('grafana/', import.meta.url)
  await mkdir(folder, { recursive: true })
  for (const { name, ...board } of grafanaBoards)
    await writeFile(new URL(name, folder), `${JSON.stringify(board, null, 2)}\n`)
  console.log(`${grafanaBoards.length} dashboards are in ${fileURLToPath(folder)}`)
}
