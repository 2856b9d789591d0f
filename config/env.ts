import { resolve } from 'node:path'
import { z } from 'zod'
import { UsageProblem } from '../src/errors.ts'
import { closestWord } from '../src/text/closest-word.ts'
import { SECOND } from '../src/time/units.ts'
import { sampleSecretFaults } from './sample-secrets.ts'
import { scheduleDefaults } from './schedules.ts'
import {
  cronLine,
  environmentName,
  isHttpUrl,
  queueUrl,
  secondsList,
  shareText,
  timeZone,
  tokenKey,
  upstreamUrlOf,
  urlOf,
  wholeNumberText,
} from './variable-schemas.ts'

/**
 * The only reader of the environment. All faults are reported together, each by its variable and with its remedy. The
 * configuration is frozen and handed down: no other file reads `process.env`.
 */

type Variable = { schema: z.ZodType; about: string; fallback?: string; secret?: true; address?: true }

/** All variables, in the order in which `vitalsync doctor` prints them. */
const variables = {
  DATABASE_URL: {
    schema: urlOf('postgres', 'postgresql'),
    about: 'warehouse and ledger; absent: an embedded Postgres',
    address: true,
  },
  QUEUE_URL: {
    schema: queueUrl,
    about: 'queue; a Redis Cluster: redis://a:6379,b:6379,c:6379; absent: the embedded Postgres, or DATABASE_URL',
    address: true,
  },
  UPSTREAM_URL: {
    schema: z.string().refine((text) => environmentName.safeParse(text).success || isHttpUrl(text), {
      error: 'must be http://…, https://…, sandbox or production',
    }),
    about: 'the Profile Service; absent: a local sandbox with sample profiles',
    address: true,
  },
  UPSTREAM_SANDBOX_URL: {
    schema: urlOf('http', 'https'),
    about: 'the address behind UPSTREAM_URL=sandbox and =production',
    address: true,
  },
  UPSTREAM_CLIENT_ID: { schema: z.string().min(1), about: 'account credential', secret: true },
  UPSTREAM_CLIENT_SECRET: { schema: z.string().min(1), about: 'account credential', secret: true },
  TOKEN_KEY: { schema: tokenKey, about: 'key that encrypts tokens at rest', secret: true },
  VITALSYNC_DATA: { schema: z.string().min(1), about: 'folder of everything embedded', fallback: '.vitalsync' },
  PORT: { schema: wholeNumberText(0, 65535), about: 'port of the Profile Service; 0 picks a free one', fallback: '0' },
  METRICS_PORT: {
    schema: wholeNumberText(0, 65535),
    about: 'port of its metrics; absent: PORT, on this machine alone',
  },
  KEPT_ANSWERS_MB: { schema: wholeNumberText(0, 65_536), about: 'memory for its cached answers', fallback: '128' },
  DERIVE_THREADS: { schema: wholeNumberText(1, 256), about: 'threads that derive; absent: the cores less one' },
  LOG_LEVEL: {
    schema: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']),
    about: 'how much is logged',
    fallback: 'info',
  },
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

type VariableName = keyof typeof variables
const names = Object.keys(variables) as VariableName[]

export type Config = Readonly<ReturnType<typeof configOf>>
export type Environment = Readonly<Record<string, string | undefined>>
export type DescribedVariable = {
  readonly name: string
  readonly value: string
  readonly from: 'set' | 'default' | 'absent'
  readonly about: string
}

/** Reads the file `.env` beside the checkout, if there is one. Variables that are set already win. */
export function loadEnvironment(): Environment {
  try {
    process.loadEnvFile('.env')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      throw new UsageProblem(`read .env: ${(error as Error).message}`, {
        hint: 'It must be a file of lines NAME=value that this user may read.',
      })
  }
  return process.env
}

export function readConfig(environment: Environment): Config {
  const faults: string[] = []
  const values: Partial<Record<VariableName, unknown>> = {}
  for (const name of names) {
    const text = variableText(environment, name)
    if (text === undefined) continue
    const read = variables[name].schema.safeParse(text)
    if (read.success) values[name] = read.data
    else faults.push(`${name} ${read.error.issues[0]?.message ?? 'is not valid'}`)
  }
  faults.push(...misspeltNames(environment), ...inconsistentVariables(environment))
  if (faults.length > 0) {
    throw new UsageProblem(
      `read configuration: ${faults.length === 1 ? faults[0] : `\n  - ${faults.join('\n  - ')}`}`,
      {
        hint: 'All variables with their meaning: config/example.env. What is in force: vitalsync doctor.',
      },
    )
  }
  return Object.freeze(configOf(values as ParsedValues, environment))
}

function variableText(environment: Environment, name: VariableName): string | undefined {
  const set = environment[name]
  const variable: Variable = variables[name]
  // An empty variable counts as absent: compose files and shells leave a variable out that way.
  return set === undefined || set.trim() === '' ? variable.fallback : set.trim()
}

/** Names of other tools for the same variable, and misspelt names, unless the right variable is set. */
function misspeltNames(environment: Environment): string[] {
  const aliases: Record<string, VariableName> = {
    REDIS_URL: 'QUEUE_URL',
    POSTGRES_URL: 'DATABASE_URL',
    PG_URL: 'DATABASE_URL',
    DIGEST_SECONDS: 'REREAD_SECONDS', // its name while a fixed time was taken for granted
  }
  return Object.keys(environment).flatMap((name) => {
    if (names.includes(name as VariableName)) return []
    const meant = aliases[name] ?? closestWord(name, names)
    return meant && !environment[meant] ? [`${name} is not known: did you mean ${meant}?`] : []
  })
}

function inconsistentVariables(environment: Environment): string[] {
  const has = (name: VariableName) => variableText(environment, name) !== undefined
  const faults: string[] = []
  if (has('UPSTREAM_URL')) {
    for (const name of ['UPSTREAM_CLIENT_ID', 'UPSTREAM_CLIENT_SECRET'] as const) {
      if (!has(name)) faults.push(`${name} is missing: an upstream of your own (UPSTREAM_URL) needs its credentials`)
    }
    const named = environmentName.safeParse(variableText(environment, 'UPSTREAM_URL')).success
    if (named && !has('UPSTREAM_SANDBOX_URL')) {
      faults.push('UPSTREAM_SANDBOX_URL is missing: UPSTREAM_URL names an environment, and this gives its address')
    }
  }
  if (Number(variableText(environment, 'SETTLE_MIN_SECONDS')) > Number(variableText(environment, 'SETTLE_MAX_SECONDS')))
    faults.push('SETTLE_MIN_SECONDS is greater than SETTLE_MAX_SECONDS')
  return [...faults, ...sampleSecretFaults(secretsIn(environment))]
}

const secretsIn = (environment: Environment) => ({
  clientId: variableText(environment, 'UPSTREAM_CLIENT_ID'),
  tokenKey: variableText(environment, 'TOKEN_KEY'),
  databaseUrl: variableText(environment, 'DATABASE_URL'),
  queueUrl: variableText(environment, 'QUEUE_URL'),
})

type ParsedValues = { [N in VariableName]?: z.output<(typeof variables)[N]['schema']> }

function configOf(values: ParsedValues, environment: Environment) {
  const requiredValue = <N extends VariableName>(name: N) => values[name] as NonNullable<ParsedValues[N]> // has a fallback
  const { UPSTREAM_URL: url, UPSTREAM_CLIENT_ID: clientId, UPSTREAM_CLIENT_SECRET: clientSecret } = values
  return {
    databaseUrl: values.DATABASE_URL,
    queueUrl: values.QUEUE_URL,
    upstream:
      url && clientId && clientSecret
        ? Object.freeze({
            url: upstreamUrlOf(url, values.UPSTREAM_SANDBOX_URL),
            clientId,
            clientSecret,
          })
        : undefined,
    tokenKey: values.TOKEN_KEY,
    dataFolder: resolve(requiredValue('VITALSYNC_DATA')),
    port: requiredValue('PORT'),
    metricsPort: values.METRICS_PORT,
    answerCacheBytesMax: requiredValue('KEPT_ANSWERS_MB') * 1024 * 1024,
    deriveThreads: values.DERIVE_THREADS,
    logLevel: requiredValue('LOG_LEVEL'),
    logLevelGiven: Boolean(environment['LOG_LEVEL']?.trim()),
    schedule: Object.freeze({
      nightlyCron: requiredValue('NIGHTLY_CRON'),
      sweepCron: requiredValue('SWEEP_CRON'),
      timeZone: requiredValue('SCHEDULE_TIME_ZONE'),
    }),
    runsKeptDays: requiredValue('RUNS_KEPT_DAYS'),
    historyDays: requiredValue('HISTORY_DAYS'),
    settle: Object.freeze({
      minMs: requiredValue('SETTLE_MIN_SECONDS') * SECOND,
      maxMs: requiredValue('SETTLE_MAX_SECONDS') * SECOND,
      intervalsMs: Object.freeze(requiredValue('REREAD_SECONDS').map((seconds) => seconds * SECOND)),
    }),
    concurrency: requiredValue('CONCURRENCY'),
    windowsAtOnce: requiredValue('WINDOWS_AT_ONCE'),
    belief: Object.freeze({
      goneShareMax: requiredValue('GONE_PERCENT_MAX') / 100,
      spacingMs: requiredValue('SECOND_READING_SECONDS') * 1000,
    }),
    backlogMax: requiredValue('BACKLOG_MAX'),
    budget: Object.freeze({
      requestsPerSecond: requiredValue('BUDGET_PER_SECOND'),
      inFlight: requiredValue('BUDGET_IN_FLIGHT'),
    }),
    sentinelShare: requiredValue('SENTINEL_SHARE'),
    drainSeconds: requiredValue('DRAIN_SECONDS'),
    statementMs: requiredValue('STATEMENT_SECONDS') * SECOND,
  }
}

/** The variables with their values in force, secrets masked, for `vitalsync doctor`. */
export function describeConfig(environment: Environment): DescribedVariable[] {
  return names.map((name) => {
    const variable: Variable = variables[name]
    const text = variableText(environment, name)
    const from = text === undefined ? 'absent' : text === variable.fallback ? 'default' : 'set'
    return { name, value: maskedText(variable, text), from, about: variable.about }
  })
}

function maskedText(variable: Variable, text: string | undefined): string {
  if (text === undefined) return ''
  if (variable.secret) return '••••'
  if (!variable.address) return text
  return text
    .replace(/(^|,|\/\/)([^/@,]*)@/g, (_, before: string, user: string) => `${before}${user.split(':')[0]}:••••@`)
    .replace(/(password=)[^&]*/gi, '$1••••')
}
