import { createInterface } from 'node:readline/promises'
import { UsageProblem } from '../../base/errors.ts'
import { formatNumber } from '../../base/text/readable.ts'
import { eraseAndProve } from '../../operations/erase-and-prove.ts'
import { type CommandContext, exitCodes } from '../terminal/command-context.ts'
import { printResult } from '../terminal/print-result.ts'
import { formatTable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { withPipeline } from '../with-pipeline.ts'

type EraseOptions = { readonly externalId: string; readonly yes: boolean }

/** Erases a profile upstream and here, and proves it: prints the removed rows, the answer of upstream, and the remaining rows. */
export async function runProfilesErase(context: CommandContext, { externalId, yes }: EraseOptions): Promise<number> {
  const { terminal } = context
  if (!yes) await confirm(terminal)
  const proof = await withPipeline(context, (opened) => eraseAndProve(opened, externalId, terminal))
  printResult(terminal, ['profiles erase', proof], proofLines(proof, terminal))
  return proof.complete ? exitCodes.done : exitCodes.failures
}

function proofLines(proof: Awaited<ReturnType<typeof eraseAndProve>>, { paint }: Terminal): string[] {
  const removed = proof.removed.map(({ table, rows }) => [table, rows])
  const left = proof.left.map(({ table, rows }) => `${rows} in ${table}`).join(', ')
  return [
    formatTable(['removed from', 'rows'], removed),
    '',
    `queue:      ${formatNumber(proof.queueJobs)} waiting jobs removed`,
    `upstream:   ${proof.upstream}`,
    `tombstone:  ${proof.tombstone ? 'set: later imports leave this person out' : paint('bad', 'MISSING')}`,
    `left here:  ${left || 'nothing, in any table'}`,
  ]
}

async function confirm(terminal: Terminal): Promise<void> {
  const hint = 'Erasing cannot be undone. Without a terminal to ask at, say it with --yes.'
  if (!terminal.isTerminal || !process.stdin.isTTY) throw new UsageProblem('erase profile: not confirmed', { hint })
  const question = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await question.question('Erase this person upstream and here, for good? Type yes: ')
  question.close()
  if (answer.trim() !== 'yes') throw new UsageProblem('erase profile: not confirmed', { hint: 'Nothing was done.' })
}
