import type { Config, Environment } from '../../../config/env.ts'
import type { Log } from '../../base/log.ts'
import type { Terminal } from './terminal.ts'

/** Every command gets these values. */
export type CommandContext = {
  readonly config: Config
  readonly terminal: Terminal
  readonly log: Log
  /** Aborted by the first Ctrl-C. */
  readonly signal: AbortSignal
}

/** For a command that examines a configuration which may be wrong. */
export type UncheckedContext = Pick<CommandContext, 'terminal'> & { readonly environment: Environment }

export const exitCodes = { done: 0, failures: 1, usage: 2, unreachable: 3 } as const
