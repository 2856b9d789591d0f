import { type DestinationStream, type Logger, pino } from 'pino'

export type Log = Logger

/**
 * Names under which a secret, a person's outside name or a health value could travel. Censored as a last line of
 * defence: the code that logs is expected not to hand them over in the first place.
 */
const censored = [
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
    redact: { paths: censored.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[hidden]' },
  }
  return pino(settings, options.destination ?? pino.destination({ fd: 2, sync: true }))
}
