import { printableLine } from './printable.ts'

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
  const told = Object.entries(fields).map(
    ([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const head = `${String(time).slice(11, 23)} ${(levelNames[Number(level)] ?? String(level)).padEnd(5)} ${msg}`
  return `${printableLine([head, ...told].join('  '))}\n`
}
