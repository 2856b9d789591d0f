import { CommanderError } from 'commander'
import { loadEnvironment, readConfig } from '../config/env.ts'
import { createProgram } from './cli/program.ts'
import { exitCodes } from './cli/rim.ts'
import { createTerminal } from './commands/terminal.ts'
import { EngineUnreachable, Problem, RetryLater, Unanswered, UsageProblem } from './errors.ts'
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
// A reader that has seen enough (`vitalsync … | head`) is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))

/** Upstream, too, is an engine: that it gave no answer, or asks to come back later, is not the command's failure. */
const unreachable = [EngineUnreachable, Unanswered, RetryLater]

const program = createProgram({
  context(options) {
    const config = readConfig(loadEnvironment())
    return {
      config,
      terminal: createTerminal({ json: options.json === true }),
      log: createLog({ level: config.logLevel }),
      signal: stop.signal,
    }
  },
  exit(code) {
    process.exitCode = code
  },
})

try {
  await program.parseAsync()
} catch (error) {
  process.exitCode = failed(error)
}
// What is still open by now is nobody's: a command has closed what it opened.
process.exit()

function failed(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
  if (error instanceof Problem) {
    process.stderr.write(`vitalsync: ${error.message}\n${error.hint ? `  → ${error.hint}\n` : ''}`)
    if (error instanceof UsageProblem) return exitCodes.usage
    return unreachable.some((kind) => error instanceof kind) ? exitCodes.unreachable : exitCodes.failures
  }
  if (stop.signal.aborted) {
    process.stderr.write('vitalsync: stopped before its end\n')
    return exitCodes.failures
  }
  process.stderr.write(
    `vitalsync: unexpected error, please report it\n${error instanceof Error ? error.stack : String(error)}\n`,
  )
  return exitCodes.failures
}
