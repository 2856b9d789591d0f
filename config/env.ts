import { join, resolve } from 'node:path'
import type { z } from 'zod'
import { sandboxCredentialsOf } from '../src/base/contract/sandbox-credentials.ts'
import { UsageProblem } from '../src/base/errors.ts'
import { closestWord } from '../src/base/text/closest-word.ts'
import { SECOND } from '../src/base/time/units.ts'
import { homeFolder, requireTrustedFile } from './home.ts'
import { sampleSecretFaults } from './sample-secrets.ts'
import { environmentName, hasPrefix, upstreamUrlOf } from './variable-schemas.ts'
import { type Variable, variables } from './variables.ts'

/**
 * The only reader of the environment. All faults are reported together, each by its variable and with its remedy. The
 * configuration is frozen and handed down: no other file reads `process.env`.
 */

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

/** Reads the file `.env` of the home folder, if there is one. Variables that are set already win. */
export function loadEnvironment(): Environment {
  const file = join(homeFolder(process.env['VITALSYNC_HOME']), '.env')
  try {
    requireTrustedFile(file)
    process.loadEnvFile(file)
  } catch (error) {
    if (error instanceof UsageProblem) throw error
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
  }
  return Object.keys(environment).flatMap((name) => {
    // We read only some of the standard's variables: the others are no typing mistakes.
    if (names.includes(name as VariableName) || name.startsWith('OTEL_')) return []
    const meant = aliases[name] ?? closestWord(name, names)
    return meant && !environment[meant] ? [`${name} is not known: did you mean ${meant}?`] : []
  })
}

function inconsistentVariables(environment: Environment): string[] {
  const has = (name: VariableName) => variableText(environment, name) !== undefined
  const faults: string[] = []
  if (has('UPSTREAM_URL')) {
    const credentials = ['UPSTREAM_CLIENT_ID', 'UPSTREAM_CLIENT_SECRET'] as const
    const isOfSandbox = has('SANDBOX_SECRET') && !credentials.some(has)
    for (const name of credentials) {
      if (!has(name) && !isOfSandbox)
        faults.push(`${name} is missing: an upstream of your own (UPSTREAM_URL) needs its credentials`)
    }
    const named = environmentName.safeParse(variableText(environment, 'UPSTREAM_URL')).success
    if (named && !has('UPSTREAM_SANDBOX_URL')) {
      faults.push('UPSTREAM_SANDBOX_URL is missing: UPSTREAM_URL names an environment, and this gives its address')
    }
    const sandboxUrl = variableText(environment, 'UPSTREAM_SANDBOX_URL') ?? ''
    if (
      variableText(environment, 'UPSTREAM_URL') === 'production' &&
      URL.canParse(sandboxUrl) &&
      !hasPrefix(sandboxUrl)
    )
      faults.push(
        'UPSTREAM_URL=production needs a host that begins with sandbox. or sandbox- in UPSTREAM_SANDBOX_URL: production would be the sandbox. Give its own address in UPSTREAM_URL',
      )
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

type RequiredValue = <N extends VariableName>(name: N) => NonNullable<ParsedValues[N]>

const MB = 1024 * 1024

function serviceLimitsOf(requiredValue: RequiredValue) {
  const requestsPerMinute = requiredValue('REQUESTS_PER_MINUTE')
  const heldBytesMax = requiredValue('HELD_BODIES_MB') * MB
  return Object.freeze({
    requestsPerMinute,
    tokenRequestsPerMinute: Math.ceil(requestsPerMinute / 2),
    refusedLoginsPerMinute: requiredValue('REFUSED_LOGINS_PER_MINUTE'),
    refusedTokensPerMinute: requiredValue('REFUSED_TOKENS_PER_MINUTE'),
    heldBytesMax,
    heldBytesPerAccountMax: heldBytesMax / 2,
    answerCacheBytesMax: requiredValue('KEPT_ANSWERS_MB') * MB,
  })
}

function otlpOf(values: ParsedValues, requiredValue: RequiredValue) {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS: headers = {} } = values
  if (endpoint === undefined) return undefined
  return Object.freeze({
    endpoint,
    headers,
    sampler: requiredValue('OTEL_TRACES_SAMPLER'),
    tracesShare: requiredValue('OTEL_TRACES_SAMPLER_ARG'),
    serviceName: values.OTEL_SERVICE_NAME,
  })
}

/** With the secret of a sandbox its keys are known. */
function upstreamOf(values: ParsedValues) {
  const { UPSTREAM_URL: address, SANDBOX_SECRET: sandboxSecret } = values
  const ofSandbox = sandboxSecret === undefined ? undefined : sandboxCredentialsOf(sandboxSecret)
  const { UPSTREAM_CLIENT_ID: clientId = ofSandbox?.clientId } = values
  const { UPSTREAM_CLIENT_SECRET: clientSecret = ofSandbox?.clientSecret } = values
  if (!address || !clientId || !clientSecret) return undefined
  return Object.freeze({ url: upstreamUrlOf(address, values.UPSTREAM_SANDBOX_URL), clientId, clientSecret })
}

function configOf(values: ParsedValues, environment: Environment) {
  const requiredValue: RequiredValue = (name) => values[name] as NonNullable<ParsedValues[typeof name]> // has a fallback
  return {
    databaseUrl: values.DATABASE_URL,
    queueUrl: values.QUEUE_URL,
    queueParts: requiredValue('QUEUE_PARTS'),
    upstream: upstreamOf(values),
    sandboxSecret: values.SANDBOX_SECRET,
    sandboxNames: Object.freeze(values.SANDBOX_NAMES ?? []),
    tokenKeys: values.TOKEN_KEY,
    dataFolder: resolve(homeFolder(environment['VITALSYNC_HOME']), requiredValue('VITALSYNC_DATA')),
    port: requiredValue('PORT'),
    metricsPort: values.METRICS_PORT,
    metricsHost: requiredValue('METRICS_HOST'),
    otlp: otlpOf(values, requiredValue),
    trustedProxies: Object.freeze(values.TRUSTED_PROXIES ?? []),
    serviceLimits: serviceLimitsOf(requiredValue),
    deriveThreads: values.DERIVE_THREADS,
    dashboard: Object.freeze({
      port: requiredValue('DASHBOARD_PORT'),
      host: requiredValue('DASHBOARD_HOST'),
      passwordFile: values.DASHBOARD_PASSWORD_FILE,
      trustedHeader: values.DASHBOARD_TRUSTED_HEADER,
      actors: Object.freeze(values.DASHBOARD_ACTORS ?? []),
    }),
    consolePasswordFile: values.CONSOLE_PASSWORD_FILE,
    logLevel: requiredValue('LOG_LEVEL'),
    logFormat: requiredValue('LOG_FORMAT'),
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
    warehouseShards: requiredValue('WAREHOUSE_SHARDS'),
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
  if (variable.secret) return MASK
  return variable.address ? maskedAddresses(text) : text
}

const MASK = '••••'

/** An address without its password. Each address of a list with commas: a comma may also belong to a password. */
function maskedAddresses(text: string): string {
  const addresses = /^rediss?:/i.test(text) ? text.split(',') : [text]
  const masked = addresses.map((address, index) => {
    if (address.includes('@')) return withoutPassword(address, index === 0)
    return isPlainAddress.test(address) || !text.includes('@') ? address : MASK
  })
  return masked.join(',').replace(/(password=)[^&]*/gi, `$1${MASK}`)
}

/** A host and a port, after a protocol or not. Other texts may be a part of a password with a comma in it. */
const isPlainAddress = /^(\w+:\/\/)?([\w.-]+|\[[\da-f:]+\])(:\d+)?(\/\d*)?$/i

/** The user stays, in the first of several addresses. A password may hold any character: it ends at the last @. */
function withoutPassword(address: string, isFirst: boolean): string {
  const begin = address.includes('//') ? address.indexOf('//') + 2 : 0
  const end = address.lastIndexOf('@')
  const [user = ''] = address.slice(begin, end).split(':')
  return `${address.slice(0, begin)}${isFirst || begin > 0 ? user : ''}:${MASK}${address.slice(end)}`
}
