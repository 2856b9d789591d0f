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

export type Variable = { schema: z.ZodType; about: string; fallback?: string; secret?: true; address?: true }

/** All variables, in the order in which `vitalsync doctor` prints them. */
export const variables = {
  DATABASE_URL: {
    schema: postgresUrl,
    about: 'warehouse and ledger; absent: an embedded Postgres',
    address: true,
  },
  QUEUE_URL: {
    schema: queueUrl,
    about: 'queue; a Redis Cluster: redis://a:6379,b:6379,c:6379; absent: the embedded Postgres, or DATABASE_URL',
    address: true,
  },
  QUEUE_PARTS: {
    schema: wholeNumberText(1, QUEUE_PARTS_MAX),
    about:
      'parts of the queue, by profile; several spread over the masters of a Redis Cluster; the same for all processes',
    fallback: '1',
  },
  UPSTREAM_URL: {
    schema: z.string().refine((text) => environmentName.safeParse(text).success || isPlainHttpUrl(text), {
      error: 'must be http://… or https://…, without user and query, sandbox or production',
    }),
    about: 'the Profile Service; absent: a local sandbox with sample profiles',
    address: true,
  },
  UPSTREAM_SANDBOX_URL: {
    schema: plainHttpUrl,
    about: 'the address behind UPSTREAM_URL=sandbox and =production',
    address: true,
  },
  UPSTREAM_CLIENT_ID: { schema: z.string().min(1), about: 'account credential', secret: true },
  UPSTREAM_CLIENT_SECRET: { schema: z.string().min(1), about: 'account credential', secret: true },
  SANDBOX_SECRET: {
    schema: z.string().min(16, { error: 'must have 16 characters or more: openssl rand -base64 32' }),
    about: 'secret from which the keys of a sandbox follow; absent: each data folder draws its own',
    secret: true,
  },
  SANDBOX_NAMES: {
    schema: hostNameList,
    about: 'names by which a sandbox may be asked, beside those of this machine, with commas between',
  },
  TOKEN_KEY: {
    schema: tokenKeys,
    about: 'key that encrypts tokens at rest; while it is changed, two with a comma: the first encrypts',
    secret: true,
  },
  VITALSYNC_HOME: {
    schema: z.string().min(1),
    about: 'folder of .env and of VITALSYNC_DATA; absent: that of the program',
  },
  VITALSYNC_DATA: { schema: z.string().min(1), about: 'folder of everything embedded', fallback: '.vitalsync' },
  PORT: {
    schema: wholeNumberText(0, 65535),
    about: 'port of the Profile Service; 0 picks a free one, which the data folder keeps',
    fallback: '0',
  },
  METRICS_PORT: {
    schema: wholeNumberText(0, 65535),
    about:
      'port of /metrics, /health, /ready of worker, schedule and up; of the service’s metrics, else on its PORT; 0: a free one',
  },
  METRICS_HOST: {
    schema: hostName,
    about: 'address on which METRICS_PORT listens; 0.0.0.0: on every one',
    fallback: '127.0.0.1',
  },
  TRUSTED_PROXIES: {
    schema: proxyList,
    about:
      'proxies in front of it, whose X-Forwarded-For is believed: addresses, networks such as 10.0.0.0/8, loopback',
  },
  REQUESTS_PER_MINUTE: {
    schema: wholeNumberText(1, 1_000_000_000),
    about: 'requests a minute of one account; one token may have half of them',
    fallback: '600000',
  },
  REFUSED_LOGINS_PER_MINUTE: {
    schema: wholeNumberText(1, 1_000_000),
    about: 'wrong secrets a minute from one address; for one account ten times as many',
    fallback: '60',
  },
  REFUSED_TOKENS_PER_MINUTE: {
    schema: wholeNumberText(1, 1_000_000_000),
    about: 'unknown tokens a minute from one address',
    fallback: '60000',
  },
  HELD_BODIES_MB: {
    schema: wholeNumberText(2, 65_536),
    about: 'request bodies it holds at once; one account may have half of them',
    fallback: '128',
  },
  KEPT_ANSWERS_MB: { schema: wholeNumberText(0, 65_536), about: 'memory for its cached answers', fallback: '128' },
  DERIVE_THREADS: { schema: wholeNumberText(1, 256), about: 'threads that derive; absent: the cores less one' },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    schema: plainHttpUrl,
    about: 'collector of traces and metrics by OTLP over HTTP; absent: none are sent',
    address: true,
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    schema: headerList,
    about: 'headers for it, such as authorization=Bearer%20…, with commas between',
    secret: true,
  },
  OTEL_SERVICE_NAME: {
    schema: z.string().min(1),
    about: 'name of the process in traces; absent: vitalsync and its command',
  },
  OTEL_TRACES_SAMPLER: {
    schema: z.enum(traceSamplers),
    about: 'which traces are recorded; parentbased: as the caller decided, where there is one',
    fallback: 'parentbased_traceidratio',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    schema: shareText,
    about: 'share of traces that …traceidratio records',
    fallback: '1.0',
  },
  DASHBOARD_PORT: {
    schema: wholeNumberText(0, 65535),
    about: 'port of the dashboard; where it is taken up takes the next; 0: a free one',
    fallback: '8360',
  },
  DASHBOARD_HOST: {
    schema: hostName,
    about: 'address on which the dashboard listens; beyond this machine it asks who people are',
    fallback: '127.0.0.1',
  },
  DASHBOARD_PASSWORD_FILE: {
    schema: z.string().min(1),
    about: 'who may sign in: lines that vitalsync dashboard password makes',
  },
  DASHBOARD_TRUSTED_HEADER: {
    schema: headerName,
    about: 'header in which a proxy of TRUSTED_PROXIES names who has signed in to it',
  },
  DASHBOARD_ACTORS: {
    schema: z.string().transform((text) => text.split(',').map((part) => part.trim())),
    about: 'who of those that the proxy names may act, with commas between; the others look',
  },
  CONSOLE_PASSWORD_FILE: {
    schema: z.string().min(1),
    about: 'who may sign in to the console of the service: lines that vitalsync dashboard password makes',
  },
  LOG_LEVEL: {
    schema: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']),
    about: 'how much is logged',
    fallback: 'info',
  },
  LOG_FORMAT: { schema: z.enum(['json', 'pretty']), about: 'lines for programs, or for eyes', fallback: 'json' },
  NIGHTLY_CRON: { schema: cronLine, about: 'when all profiles are synced', fallback: scheduleDefaults.nightlyCron },
  SWEEP_CRON: {
    schema: cronLine,
    about: 'when windows that fell due since then are synced',
    fallback: scheduleDefaults.sweepCron,
  },
  SCHEDULE_TIME_ZONE: { schema: timeZone, about: 'time zone of both schedules', fallback: scheduleDefaults.timeZone },
  RUNS_KEPT_DAYS: { schema: wholeNumberText(2, 3660), about: 'how long ended runs are kept', fallback: '90' },
  HISTORY_DAYS: { schema: wholeNumberText(1, 3660), about: 'how far back a new profile is wanted', fallback: '60' },
  REREAD_SECONDS: {
    schema: secondsList,
    about: 'after a push: seconds to the first reading of what it touched, from there to the second, and so on',
    fallback: '30,300,3600,21600,86400',
  },
  SETTLE_MIN_SECONDS: {
    schema: wholeNumberText(0, 31_536_000),
    about: 'no day settles sooner, however early upstream has it by the measured lateness',
    fallback: '21600',
  },
  SETTLE_MAX_SECONDS: {
    schema: wholeNumberText(0, 31_536_000),
    about: 'no day waits longer, however late upstream has it by the measured lateness',
    fallback: '864000',
  },
  CONCURRENCY: { schema: wholeNumberText(1, 1000), about: 'jobs a worker runs at once', fallback: '32' },
  WINDOWS_AT_ONCE: { schema: wholeNumberText(1, 100), about: 'windows a job reads at once', fallback: '8' },
  GONE_PERCENT_MAX: {
    schema: wholeNumberText(0, 100),
    about: 'records that one reading may mark gone',
    fallback: '50',
  },
  SECOND_READING_SECONDS: {
    schema: wholeNumberText(0, 600),
    about: 'pause before a reading that lacks more is read again',
    fallback: '5',
  },
  BACKLOG_MAX: {
    schema: wholeNumberText(100, 1_000_000),
    about: 'waiting jobs above which producers pause',
    fallback: '10000',
  },
  WAREHOUSE_SHARDS: {
    schema: wholeNumberText(1, 1024),
    about: 'shards of a divided warehouse; 1: one Postgres',
    fallback: '1',
  },
  BUDGET_PER_SECOND: {
    schema: wholeNumberText(1, 1_000_000),
    about: 'requests a second of the whole fleet',
    fallback: '2000',
  },
  BUDGET_IN_FLIGHT: {
    schema: wholeNumberText(1, 10_000),
    about: 'requests in flight of the whole fleet',
    fallback: '128',
  },
  SENTINEL_SHARE: {
    schema: shareText,
    about: 'share of the requests of a nightly with which covered windows are read again and compared; 0 turns it off',
    fallback: '0.001',
  },
  DRAIN_SECONDS: { schema: wholeNumberText(1, 3600), about: 'how long jobs may go on after SIGTERM', fallback: '25' },
  STATEMENT_SECONDS: {
    schema: wholeNumberText(1, 600),
    about: 'how long a worker’s statement may take; a Postgres silent for 5 s more is given up',
    fallback: '20',
  },
} as const satisfies Record<string, Variable>
