import { exportFormats } from '../../intake/formats/known-formats.ts'
import { type CommandContext, exitCodes } from '../terminal/command-context.ts'
import { formatTable } from '../terminal/table.ts'

/** Lists the health exports that `vitalsync import` recognises. */
export function runImportFormats({ terminal }: Pick<CommandContext, 'terminal'>): number {
  if (terminal.json)
    for (const { name, title, files } of exportFormats) terminal.printJson('import formats', { name, title, files })
  else {
    terminal.print(
      formatTable(
        ['format', 'from', 'files'],
        exportFormats.map(({ name, title, files }) => [name, title, files]),
      ),
    )
    terminal.print('Beside them: data-logs, tags, demographics and device-information as NDJSON or CSV of our own.')
  }
  return exitCodes.done
}
