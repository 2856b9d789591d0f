import { setImmediate } from 'node:timers/promises'
import { CommanderError } from 'commander'
import { loadEnvironment, readConfig } from '../config/env.ts'
import { failureOf } from './cli/failing.ts'
import { createProgram } from './cli/program.ts'
import { exitCodes } from './cli/rim.ts'
import { createTerminal, painterFor } from './commands/terminal.ts'
import { Problem } from './errors.ts'
import { createLog } from './log.ts'

/** Arguments → command → exit code. */
const stop = new AbortController()
let interrupts = 0
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    interrupts += 1
    // Once drains, twice stops.
    if (interrupts > 1) process.exit(130)
    stop.abort(new Error(signal))
  })
}

/**
 * A reader that has seen enough (`vitalsync … | head`), or a terminal that was closed, is no failure: the command leaves,
 * and closes what it opened. Results that find no place on a disk are one.
 */
let isUnread = false
let unwritten: unknown
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE' || error.code === 'EIO') isUnread = true
  else unwritten ??= Object.assign(error, { path: 'standard output' })
  stop.abort(error)
})
// Remarks that nobody hears hold nothing up.
process.stderr.on('error', () => undefined)

const program = createProgram({
  context(options) {
    const environment = loadEnvironment()
    const config = readConfig(environment)
    return {
      config,
      terminal: createTerminal({ json: options.json === true, term: environment['TERM'] }),
      log: createLog({ level: config.logLevel }),
      signal: stop.signal,
    }
  },
  exit(code) {
    process.exitCode = code
  },
})

const failure: unknown = await program.parseAsync().then(
  () => undefined,
  (error: unknown) => error,
)
// What could not be written says so a moment later.
await setImmediate()
if (unwritten ?? failure) process.exitCode = await told(unwritten ?? failure)
if (isUnread) process.exitCode = exitCodes.done
// What is still open by now is nobody's: a command has closed what it opened.
process.exit()

async function told(error: unknown): Promise<number> {
  // The parser has said what is wrong.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
  if (isUnread) return exitCodes.done
  if (stop.signal.aborted && error !== unwritten && !(error instanceof Problem)) {
    process.stderr.write('vitalsync: stopped before its end\n')
    return exitCodes.failures
  }
  const { text, hint, code } = await failureOf(error)
  const name = painterFor(process.stderr)('bad', 'vitalsync:')
  process.stderr.write(`${name} ${text}\n${hint ? `  → ${hint}\n` : ''}`)
  return code
}
