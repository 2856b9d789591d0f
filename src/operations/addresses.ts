import type { Config } from '../../config/env.ts'
import type { LocalEngines } from '../base/engines/local-engines.ts'
import { UsageProblem } from '../base/errors.ts'

/** Addresses where engines answer: given by the configuration, or those of the embedded engines. */
export type EngineAddresses = {
  readonly databaseUrl: string
  readonly queueUrl: string
  readonly upstream: NonNullable<Config['upstream']>
  /** The first seals, each opens. */
  readonly tokenKeys: readonly Buffer[]
  /** The password of the role that answers questions follows from one of them. */
  readonly questionsKeys: readonly Buffer[]
}

/** For a command that starts no engine of its own. */
export function requireGivenAddresses(config: Config): EngineAddresses {
  const { databaseUrl, upstream, tokenKeys } = config
  if (!databaseUrl || !upstream || !tokenKeys) {
    const missing = [databaseUrl ? '' : 'DATABASE_URL', upstream ? '' : 'UPSTREAM_URL', tokenKeys ? '' : 'TOKEN_KEY']
    throw new UsageProblem(`read configuration: ${missing.filter(Boolean).join(', ')} not set`, {
      hint: 'This command works with engines that run already. Everything at once on this machine: vitalsync up. A key: openssl rand -base64 32.',
    })
  }
  return { ...resolveDatabases(config, undefined), upstream, tokenKeys }
}

/** Given addresses first, then those of the embedded engines. */
export function resolveAddresses(
  config: Config,
  local: LocalEngines | undefined,
  upstream: EngineAddresses['upstream'] | undefined,
): EngineAddresses {
  if (!upstream) throw new Error('find engines: no upstream is given and none was started')
  const databases = resolveDatabases(config, local)
  return { ...databases, upstream, tokenKeys: databases.tokenKeys ?? throwMissingTokenKey() }
}

type DatabaseAddresses = Pick<EngineAddresses, 'databaseUrl' | 'queueUrl' | 'questionsKeys'> & {
  readonly tokenKeys: EngineAddresses['tokenKeys'] | undefined
}

/** Without QUEUE_URL the queue lies in a given warehouse's database, or in an embedded database of its own. */
export function resolveDatabases(config: Config, local: LocalEngines | undefined): DatabaseAddresses {
  const engines = config.databaseUrl ? { databaseUrl: config.databaseUrl, queueUrl: config.databaseUrl } : local
  if (!engines) throw new Error('find engines: no warehouse is given and none was started')
  return {
    databaseUrl: engines.databaseUrl,
    queueUrl: config.queueUrl ?? engines.queueUrl,
    tokenKeys: config.tokenKeys ?? (local && [local.tokenKey]),
    // The embedded Postgres makes the role when it starts, and knows no setting.
    questionsKeys: (config.databaseUrl ? config.tokenKeys : local && [local.tokenKey]) ?? [],
  }
}

/** A given warehouse needs a given key; an embedded one brings its own. */
export function requireTokenKey(config: Config): void {
  if (config.databaseUrl !== undefined && config.tokenKeys === undefined) throwMissingTokenKey()
}

function throwMissingTokenKey(): never {
  throw new UsageProblem('read configuration: TOKEN_KEY is not set', {
    hint: 'Tokens in a database of your own are encrypted with it: openssl rand -base64 32.',
  })
}
