import { readFile } from 'node:fs/promises'
import { UsageProblem } from '../../../base/errors.ts'
import { requireNoFolder, requireReplaceable } from '../../../base/files/named-files.ts'
import { replacePrivateFile } from '../../../base/files/private-file.ts'
import { formatCount } from '../../../base/text/readable.ts'
import { cleanHar, HAR_BYTES_MAX, parseHar } from '../../../operations/contract/clean-har.ts'
import { replayHar } from '../../../operations/contract/replay-har.ts'
import { untilAborted } from '../../../operations/processes/repeat.ts'
import type { CommandContext } from '../../terminal/command-context.ts'

async function readHar(file: string, action: string) {
  const found = await requireNoFolder(file)
  if (!found.isFile() || found.size > HAR_BYTES_MAX)
    throw new UsageProblem(`${action} ${file}: it is no file, or larger than 64 MB`, {
      hint: 'Give an HTTP archive of at most 64 MB.',
    })
  return parseHar(await readFile(file, 'utf8'), `${action} ${file}`)
}

export async function runHarClean(
  { terminal }: CommandContext,
  { file, output }: { file: string; output: string },
): Promise<void> {
  const har = await readHar(file, 'clean')
  await requireReplaceable(output)
  await replacePrivateFile(output, JSON.stringify(cleanHar(har), null, 1))
  terminal.print(
    `${output}: ${formatCount(har.log.entries.length, 'request')}, without secrets and values. Read it before you send it.`,
  )
}

/** Serves until it is stopped. */
export async function runReplay(
  { terminal, signal }: CommandContext,
  { file, port }: { file: string; port: number },
): Promise<void> {
  const har = await readHar(file, 'replay')
  const onUnknown = (request: string) => terminal.print(`not recorded: ${request}`)
  const replay = await replayHar(har, { port, onUnknown }).catch((cause: Error) => {
    throw new UsageProblem(`listen on port ${port}: ${cause.message}`, { hint: 'Choose another with --port.', cause })
  })
  terminal.print(
    `UPSTREAM_URL=${replay.url}: ${formatCount(har.log.entries.length, 'recorded request')}. Ctrl-C stops it.`,
  )
  await untilAborted(signal)
  await replay.close()
}
