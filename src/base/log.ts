import { trace } from '@opentelemetry/api'
import { type DestinationStream, type Logger, pino } from 'pino'
import { printableLine } from './text/readable.ts'

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

/** Ids of the active span: they lead from a log line to its trace and back. */
function traceIds(): { trace?: string; span?: string } {
  const active = trace.getActiveSpan()?.spanContext()
  return active ? { trace: active.traceId, span: active.spanId } : {}
}

type LogOptions = { level: string; format?: 'json' | 'pretty'; destination?: DestinationStream }

const prettyDestination = (destination: DestinationStream): DestinationStream => ({
  write: (line) => destination.write(prettyLine(line)),
})

/** Lines that cannot be written, as on a full disk, wait up to this many bytes. Further ones are dropped. */
const WAITING_BYTES_MAX = 1_000_000

/** A log that cannot be written stops nothing. */
function standardError(): DestinationStream {
  const destination = pino.destination({ fd: 2, sync: true, maxLength: WAITING_BYTES_MAX })
  destination.on('error', () => undefined)
  return destination
}

/** Writes JSON lines, or lines for people. The default destination is standard error: standard output is for results of commands. */
export function createLog(options: LogOptions): Log {
  const settings = {
    level: options.level,
    base: null,
    mixin: traceIds,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: redactedNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '[hidden]' },
  }
  const destination = options.destination ?? standardError()
  return pino(settings, options.format === 'pretty' ? prettyDestination(destination) : destination)
}

const levelNames: Readonly<Record<number, string>> = {
  10: 'trace',
  20: 'debug',
  30: 'info',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL',
}

/** A line of the log for eyes: the time of day, the level, the message, then every other field as `name=value`. */
export function prettyLine(line: string): string {
  const { level, time, msg = '', ...fields } = JSON.parse(line) as Record<string, unknown>
  const pairs = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const head = `${String(time).slice(11, 23)} ${(levelNames[Number(level)] ?? String(level)).padEnd(5)} ${msg}`
  return `${printableLine([head, ...pairs].join('  '))}\n`
}
