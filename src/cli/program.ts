import { Command } from 'commander'
import { painterFor } from '../commands/terminal.ts'
import { declareCompletion } from './completion.ts'
import { declareLooking } from './looking.ts'
import { declareMending } from './mending.ts'
import { declareMoving } from './moving.ts'
import { declarePeople } from './people.ts'
import { port, type Rim } from './rim.ts'
import { declareRunning } from './running.ts'
import { addServiceCommands } from './service.ts'
import { declareSyncing } from './syncing.ts'

/** The whole tree of commands. Each loads what it runs when it is run: help and completion come at once. */
export function createProgram(rim: Rim): Command {
  const program = new Command('vitalsync')
    .description('Sync worker between a health data service and a Postgres warehouse.')
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({
      outputError: (text, write) => write(text.replace(/^error:/, painterFor(process.stderr)('bad', 'vitalsync:'))),
    })
  declareRunning(program, rim)
  declareSyncing(program, rim)
  declareLooking(program, rim)
  declareMending(program, rim)
  declarePeople(program, rim)
  declareMoving(program, rim)
  addServiceCommands(program, rim.context, { port })
  declareCompletion(program, (text) => process.stdout.write(`${text}\n`))
  pointToHelp(program, '')
  return program
}

/** Whoever was refused is told where it stands how it is done. */
function pointToHelp(command: Command, words: string): void {
  command.showHelpAfterError(`  → Examples: vitalsync ${words}--help`)
  for (const child of command.commands) pointToHelp(child, `${words}${child.name()} `)
}
