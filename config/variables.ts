import { z } from 'zod'
import { QUEUE_PARTS_MAX } from '../src/pipeline/fleet/queue-parts.ts'
import { scheduleDefaults } from './schedules.ts'
import {
  cronLine,
  environmentName,
  headerList,
  headerName,
  hostName,
  hostNameList,
  isPlainHttpUrl,
  plainHttpUrl,
  postgresUrl,
  proxyList,
  queueUrl,
  secondsList,
  shareText,
  timeZone,
  tokenKeys,
  traceSamplers,
  wholeNumberText,
} from './variable-schemas.ts'

export type Variable = {
  schema: z.ZodType
  about: string
  fallback?: string | undefined
  secret?: true
  address?: true
}

/** `fallback` is the text that counts where it is not set. */
const setting = <S extends z.ZodType>(schema: S, about: string, fallback?: string) => ({ schema, about, fallback })
const secret = <S extends z.ZodType>(schema: S, about: string) => ({ ...setting(schema, about), secret: true }) as const
/** An address may hold a password. */
const address = <S extends z.ZodType>(schema: S, about: string) =>
  ({ ...setting(schema, about), address: true }) as const

const word = z.string().min(1)
const port = wholeNumberText(0, 65535)

/** All variables, in the order in which `vitalsync doctor` prints them. */
export const variables = {
  DATABASE_URL: address(postgresUrl, 'warehouse and ledger; absent: an embedded Postgres'),
  QUEUE_URL: address(
    queueUrl,
    'queue; a Redis Cluster: redis://a:6379,b:6379,c:6379; absent: the embedded Postgres, or DATABASE_URL',
  ),
  QUEUE_PARTS: setting(
    wholeNumberText(1, QUEUE_PARTS_MAX),
    'parts of the queue, by profile; several spread over the masters of a Redis Cluster; the same for all processes',
    '1',
  ),
  UPSTREAM_URL: address(
    z.string().refine((text) => environmentName.safeParse(text).success || isPlainHttpUrl(text), {
      error: 'must be http://… or https://…, without user and query, sandbox or production',
    }),
    'the Profile Service; absent: a local sandbox with sample profiles',
  ),
  UPSTREAM_SANDBOX_URL: address(plainHttpUrl, 'the address behind UPSTREAM_URL=sandbox and =production'),
  UPSTREAM_CLIENT_ID: secret(word, 'account credential'),
  UPSTREAM_CLIENT_SECRET: secret(word, 'account credential'),
  SANDBOX_SECRET: secret(
    z.string().min(16, { error: 'must have 16 characters or more: openssl rand -base64 32' }),
    'secret from which the keys of a sandbox follow; absent: each data folder draws its own',
  ),
  SANDBOX_NAMES: setting(
    hostNameList,
    'names by which a sandbox may be asked, beside those of this machine, with commas between',
  ),
  TOKEN_KEY: secret(
    tokenKeys,
    'key that encrypts tokens at rest; while it is changed, two with a comma: the first encrypts',
  ),
  VITALSYNC_HOME: setting(word, 'folder of .env and of VITALSYNC_DATA; absent: that of the program'),
  VITALSYNC_DATA: setting(word, 'folder of everything embedded', '.vitalsync'),
  PORT: setting(port, 'port of the Profile Service; 0 picks a free one, which the data folder keeps', '0'),
  METRICS_PORT: setting(
    port,
    'port of /metrics, /health, /ready of worker, schedule and up; of the service’s metrics, else on its PORT; 0: a free one',
  ),
  METRICS_HOST: setting(hostName, 'address on which METRICS_PORT listens; 0.0.0.0: on every one', '127.0.0.1'),
  TRUSTED_PROXIES: setting(
    proxyList,
    'proxies in front of it, whose X-Forwarded-For is believed: addresses, networks such as 10.0.0.0/8, loopback',
  ),
  REQUESTS_PER_MINUTE: setting(
    wholeNumberText(1, 1_000_000_000),
    'requests a minute of one account; one token may have half of them',
    '600000',
  ),
  REFUSED_LOGINS_PER_MINUTE: setting(
    wholeNumberText(1, 1_000_000),
    'wrong secrets a minute from one address; for one account ten times as many',
    '60',
  ),
  REFUSED_TOKENS_PER_MINUTE: setting(
    wholeNumberText(1, 1_000_000_000),
    'unknown tokens a minute from one address',
    '60000',
  ),
  HELD_BODIES_MB: setting(
    wholeNumberText(2, 65_536),
    'request bodies it holds at once; one account may have half of them',
    '128',
  ),
  KEPT_ANSWERS_MB: setting(wholeNumberText(0, 65_536), 'memory for its cached answers', '128'),
  DERIVE_THREADS: setting(wholeNumberText(1, 256), 'threads that derive; absent: the cores less one'),
  OTEL_EXPORTER_OTLP_ENDPOINT: address(
    plainHttpUrl,
    'collector of traces and metrics by OTLP over HTTP; absent: none are sent',
  ),
  OTEL_EXPORTER_OTLP_HEADERS: secret(
    headerList,
    'headers for it, such as authorization=Bearer%20…, with commas between',
  ),
  OTEL_SERVICE_NAME: setting(word, 'name of the process in traces; absent: vitalsync and its command'),
  OTEL_TRACES_SAMPLER: setting(
    z.enum(traceSamplers),
    'which traces are recorded; parentbased: as the caller decided, where there is one',
    'parentbased_traceidratio',
  ),
  OTEL_TRACES_SAMPLER_ARG: setting(shareText, 'share of traces that …traceidratio records', '1.0'),
  DASHBOARD_PORT: setting(port, 'port of the dashboard; where it is taken up takes the next; 0: a free one', '8360'),
  DASHBOARD_HOST: setting(
    hostName,
    'address on which the dashboard listens; beyond this machine it asks who people are',
    '127.0.0.1',
  ),
  DASHBOARD_PASSWORD_FILE: setting(word, 'who may sign in: lines that vitalsync dashboard password makes'),
  DASHBOARD_TRUSTED_HEADER: setting(
    headerName,
    'header in which a proxy of TRUSTED_PROXIES names who has signed in to it',
  ),
  DASHBOARD_ACTORS: setting(
    z.string().transform((text) => text.split(',').map((part) => part.trim())),
    'who of those that the proxy names may act, with commas between; the others look',
  ),
  CONSOLE_PASSWORD_FILE: setting(
    word,
    'who may sign in to the console of the service: lines that vitalsync dashboard password makes',
  ),
  LOG_LEVEL: setting(z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']), 'how much is logged', 'info'),
  LOG_FORMAT: setting(z.enum(['json', 'pretty']), 'lines for programs, or for eyes', 'json'),
  NIGHTLY_CRON: setting(cronLine, 'when all profiles are synced', scheduleDefaults.nightlyCron),
  SWEEP_CRON: setting(cronLine, 'when windows that fell due since then are synced', scheduleDefaults.sweepCron),
  SCHEDULE_TIME_ZONE: setting(timeZone, 'time zone of both schedules', scheduleDefaults.timeZone),
  RUNS_KEPT_DAYS: setting(wholeNumberText(2, 3660), 'how long ended runs are kept', '90'),
  HISTORY_DAYS: setting(wholeNumberText(1, 3660), 'how far back a new profile is wanted', '60'),
  REREAD_SECONDS: setting(
    secondsList,
    'after a push: seconds to the first reading of what it touched, from there to the second, and so on',
    '30,300,3600,21600,86400',
  ),
  SETTLE_MIN_SECONDS: setting(
    wholeNumberText(0, 31_536_000),
    'no day settles sooner, however early upstream has it by the measured lateness',
    '21600',
  ),
  SETTLE_MAX_SECONDS: setting(
    wholeNumberText(0, 31_536_000),
    'no day waits longer, however late upstream has it by the measured lateness',
    '864000',
  ),
  CONCURRENCY: setting(wholeNumberText(1, 1000), 'jobs a worker runs at once', '32'),
  WINDOWS_AT_ONCE: setting(wholeNumberText(1, 100), 'windows a job reads at once', '8'),
  GONE_PERCENT_MAX: setting(wholeNumberText(0, 100), 'records that one reading may mark gone', '50'),
  SECOND_READING_SECONDS: setting(wholeNumberText(0, 600), 'pause before a reading that lacks more is read again', '5'),
  BACKLOG_MAX: setting(wholeNumberText(100, 1_000_000), 'waiting jobs above which producers pause', '10000'),
  WAREHOUSE_SHARDS: setting(wholeNumberText(1, 1024), 'shards of a divided warehouse; 1: one Postgres', '1'),
  BUDGET_PER_SECOND: setting(wholeNumberText(1, 1_000_000), 'requests a second of the whole fleet', '2000'),
  BUDGET_IN_FLIGHT: setting(wholeNumberText(1, 10_000), 'requests in flight of the whole fleet', '128'),
  SENTINEL_SHARE: setting(
    shareText,
    'share of the requests of a nightly with which covered windows are read again and compared; 0 turns it off',
    '0.001',
  ),
  DRAIN_SECONDS: setting(wholeNumberText(1, 3600), 'how long jobs may go on after SIGTERM', '25'),
  STATEMENT_SECONDS: setting(
    wholeNumberText(1, 600),
    'how long a worker’s statement may take; a Postgres silent for 5 s more is given up',
    '20',
  ),
} satisfies Record<string, Variable>
