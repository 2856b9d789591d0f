import { type DestinationStream, type Logger, pino } from 'pino'

export type Log = Logger

/**
 * Field names that could hold a secret, an externalId or a health value. Their values are redacted as a second safeguard: code
 * that logs must not pass them at all.
 */
const redactedNames = [
  'authorization',
  'clientSecret',
  'appSecret',
  'accountToken',
  'profileToken',
  'refreshToken',
  'token',
  'password',
  'externalId',
  'external_id',
  'value',
  'raw',
]

/** Writes JSON lines. The default destination is standard error: standard output belongs to what a command prints. */
export function createLog(options: { level: string; destination?: DestinationStream }): Log {
  const settings = {
    level: options.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: redactedNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[hidden]' },
  }
  return pino(settings, options.destination ?? pino.destination({ fd: 2, sync: true }))
}
