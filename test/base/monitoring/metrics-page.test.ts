import { expect, test } from 'vitest'
import { type KnownMetric, listKnownMetrics } from '../../support/known-metrics.ts'

const { pipeline, service } = listKnownMetrics()
const all = [...pipeline, ...service]

test('names follow the conventions of Prometheus', () => {
  const counters = all.filter(({ type }) => type === 'counter')
  expect(counters.filter(({ name }) => !name.endsWith('_total'))).toEqual([])
  expect(all.filter(({ name, type }) => type !== 'counter' && name.endsWith('_total'))).toEqual(
    all.filter(({ name }) => /nodejs_active_\w+_total$/.test(name)), // Node's own, named by prom-client
  )
  expect(
    all.filter(({ name }) => !/^vitalsync_[a-z0-9_]+$/.test(name) || /_(ms|millis|kb|mb|percent)$/.test(name)),
  ).toEqual([])
  expect(all.filter(({ help }) => help.includes('"'))).toEqual([])
})

test('no label names a person, a profile, a token or a run', () => {
  const allowed = [
    ...['bound', 'cause', 'change', 'direction', 'job', 'kind', 'lane', 'le', 'operation', 'outcome', 'reason'],
    ...['schedule', 'state', 'status', 'stream', 'table', 'attempt'],
    ...['type', 'space', 'version', 'major', 'minor', 'patch'], // Node's own
  ]
  expect(all.flatMap(({ labels }) => labels).filter((label) => !allowed.includes(label))).toEqual([])
})

const head = `# Metrics

For operators: each metric, readiness, and traces.

\`vitalsync worker\`, \`schedule\` and \`up\` serve \`/metrics\`, \`/health\` and \`/ready\` on \`METRICS_PORT\` (absent: nowhere; 0: on a free
port, which the log names), on the address \`METRICS_HOST\`: this machine alone, unless it is set. \`vitalsync service\` serves its metrics there
too. The format is Prometheus's, or OpenMetrics for those who prefer it in \`Accept\`. No label holds a person, a token or a value.

Facts of the fleet are the same in every process: one process at a time asks the warehouse for them (every 5 s, counts over all
profiles every minute, and never for more than a twentieth of the time), all others read its answer. Join them by \`max\`, never by
\`sum\`. Counters and histograms are of one process: join them by \`sum\`.

| address | answers |
|---|---|
| \`/health\` | 200 while the process lives |
| \`/ready\` | 200, or 503 with the reasons: \`starting\`, \`stopping\`, \`database\` or \`queue\` (no answer for 20 s), \`clock\` (more than 10 s off the database's), \`account\` (upstream refuses its credentials), \`work\` (jobs wait and nothing is done for 40 s, or no job of a lane succeeds for 30 s; a rest that upstream asks for counts too) |

A worker that is not ready works on as far as it can: \`/ready\` is for people and dashboards, \`/health\` for the supervisor.

## By OpenTelemetry

With \`OTEL_EXPORTER_OTLP_ENDPOINT\` worker, scheduler, \`up\`, service and sandbox send traces to \`/v1/traces\` and these metrics to \`/v1/metrics\`, every
30 s, by OTLP over HTTP (JSON). Without it nothing of the SDK is loaded. These variables of the standard are read: \`OTEL_EXPORTER_OTLP_ENDPOINT\`,
\`OTEL_EXPORTER_OTLP_HEADERS\`, \`OTEL_SERVICE_NAME\`, \`OTEL_TRACES_SAMPLER\` and \`OTEL_TRACES_SAMPLER_ARG\` (unless set: every trace, by the parent's
decision where there is one). A trace goes \`tick\` → \`run\` → \`addBulk\` → \`process\` (the job) → a request by its operation → the same operation in the
service, and → \`commit\`: one span for each transaction, in the trace of the first reading that it stores, and linked to the jobs of all. Requests carry \`traceparent\`. Attributes are names of closed lists and ids of our own. Log lines
within a trace carry \`trace\` and \`span\`. A collector that is away costs nothing but its spans; a process that stops waits two
seconds for it. All traces take a worker some 7 % more processor time ([performance.md](../why/performance.md)).

`

const tableOf = (metrics: readonly KnownMetric[]) =>
  [
    '| metric | type | labels | meaning |',
    '|---|---|---|---|',
    ...metrics.map(({ name, type, labels, help }) => `| \`${name}\` | ${type} | ${labels.join(', ')} | ${help} |`),
  ].join('\n')

test('docs/reference/metrics.md lists every metric as it is (npx vitest -u writes it again)', async () => {
  const text = `${head}## Worker, scheduler, up\n\n${tableOf(pipeline)}\n\n## Profile Service\n\n${tableOf(service)}\n`
  await expect(text).toMatchFileSnapshot('../../../docs/reference/metrics.md')
})
