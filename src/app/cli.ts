import { fstatSync, writeSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { CommanderError } from 'commander'
import { STOP_MAX_MS } from '../base/close-stack.ts'
import { Problem } from '../base/errors.ts'
import { printableText } from '../base/text/readable.ts'
import { SECOND } from '../base/time/units.ts'
import { describeError, type GivenAddresses } from './cli/describe-error.ts'
import { endProcess } from './cli/end-process.ts'
import { createProgram } from './cli/program.ts'
import { exitCodes, type UncheckedContext } from './terminal/command-context.ts'
import { createTerminal, painterFor } from './terminal/terminal.ts'

/** Reads the arguments, runs the command and sets the exit code. */
const stop = new AbortController()
let interrupts = 0
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    interrupts += 1
    // The first signal lets the running work finish, the second stops at once.
    if (interrupts > 1) endProcess(130)
    stop.abort(new Error(signal))
  })
}

/** How long this command may take to end after a signal. Before its settings are read nothing runs that it must drain. */
let stopMaxMs = STOP_MAX_MS

/** A server that answers nothing must not keep the process from ending. */
stop.signal.addEventListener('abort', () => {
  const leave = () => {
    process.stderr.write(
      `vitalsync: ended without waiting any longer: not everything could be closed. Nothing is lost.\n`,
    )
    endProcess(exitCodes.failures)
  }
  setTimeout(leave, stopMaxMs).unref()
})

/**
 * A closed pipe (`vitalsync … | head`) or a closed terminal is no failure: the command stops and closes what it opened.
 * Results that cannot be written, for example to a full disk, are a failure.
 */
let isOutputClosed = false
let writeError: unknown
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE' || error.code === 'EIO') isOutputClosed = true
  else writeError ??= Object.assign(error, { path: 'standard output' })
  stop.abort(error)
})
// Node writes to a file once, and does not look how much of it a disk takes that becomes full: each write begins again with the rest.
if (fstatSync(1).isFile())
  process.stdout._write = (chunk, encoding, done) => {
    try {
      for (let rest = Buffer.from(chunk, encoding); rest.length > 0; ) rest = rest.subarray(writeSync(1, rest))
      done()
    } catch (error) {
      done(error as Error)
    }
  }
// Remarks that cannot be written stop nothing.
process.stderr.on('error', () => undefined)

/** The addresses that the running command was given, for the words about a connection that it loses. */
let given: GivenAddresses = {}

/** Settings and the log: a command needs them, help does not. */
async function loadForCommands() {
  const [{ loadEnvironment, readConfig }, { createLog }] = await Promise.all([
    import('../../config/env.ts'),
    import('../base/log.ts'),
  ])
  return { loadEnvironment, readConfig, createLog }
}

let loaded: Awaited<ReturnType<typeof loadForCommands>> | undefined

function requireLoaded() {
  if (!loaded) throw new Error('run a command: nothing was loaded for it')
  return loaded
}

const program = createProgram({
  context({ json }) {
    const { readConfig, createLog } = requireLoaded()
    const { environment, terminal } = uncheckedContext(json)
    const config = readConfig(environment)
    given = { databaseUrl: config.databaseUrl, queueUrl: config.queueUrl }
    stopMaxMs = config.drainSeconds * SECOND + STOP_MAX_MS
    return {
      config,
      terminal,
      log: createLog({ level: config.logLevel, format: config.logFormat }),
      signal: stop.signal,
    }
  },
  uncheckedContext: ({ json }) => uncheckedContext(json),
  print: (text) => process.stdout.write(`${text}\n`),
  exit(code) {
    process.exitCode = code
  },
}).hook('preAction', async () => {
  loaded = await loadForCommands()
})

function uncheckedContext(json: boolean): UncheckedContext {
  const environment = requireLoaded().loadEnvironment()
  return { environment, terminal: createTerminal({ json, term: environment['TERM'] }) }
}

const failure: unknown = await program.parseAsync().then(
  () => undefined,
  (error: unknown) => error,
)
// An exit loses output that a slow reader has not taken yet. A failed write is reported one turn of the event loop later.
await new Promise((resolve) => process.stdout.write('', resolve))
await setImmediate()
if (writeError ?? failure) process.exitCode = await reportError(writeError ?? failure)
if (isOutputClosed) process.exitCode = exitCodes.done
// The command has closed what it opened; a handle that a library left open must not keep the process alive.
endProcess(Number(process.exitCode ?? exitCodes.done))

async function reportError(error: unknown): Promise<number> {
  // The parser has printed what is wrong.
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage
  if (isOutputClosed) return exitCodes.done
  if (stop.signal.aborted && error !== writeError && !(error instanceof Problem)) {
    process.stderr.write('vitalsync: stopped before its end\n')
    return exitCodes.failures
  }
  const { text, hint, code } = await describeError(error, given)
  const name = painterFor(process.stderr)('bad', 'vitalsync:')
  process.stderr.write(printableText(`${name} ${text}\n${hint ? `  → ${hint}\n` : ''}`))
  return code
}
