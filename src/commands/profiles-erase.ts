import { createInterface } from 'node:readline/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { eraseProfile } from '../../jobs/erase-profile.ts'
import { type CommandContext, exitCodes } from '../assembly/command-context.ts'
import { unknownIdProblem } from '../assembly/select-profiles.ts'
import { formatDuration, formatNumber, formatTable } from '../assembly/table.ts'
import type { Terminal } from '../assembly/terminal.ts'
import { type OpenPipeline, withPipeline } from '../assembly/with-pipeline.ts'
import { NotThere, RetryLater, UsageProblem } from '../errors.ts'
import { createProfileReport } from '../warehouse/reports/profile-report.ts'

type EraseOptions = { readonly externalId: string; readonly yes: boolean }

/** Erases a profile upstream and here, and proves it: prints the removed rows, the answer of upstream, and the remaining rows. */
export async function runProfilesErase(context: CommandContext, { externalId, yes }: EraseOptions): Promise<number> {
  const { terminal } = context
  if (!yes) await confirm(terminal)
  const proof = await withPipeline(context, (opened) => eraseAndProve(opened, externalId, terminal))
  if (terminal.json) terminal.printJson('profiles erase', proof)
  else terminal.print(proofLines(proof, terminal).join('\n'))
  return proof.complete ? exitCodes.done : exitCodes.failures
}

type Proof = Awaited<ReturnType<typeof eraseAndProve>>

function proofLines(proof: Proof, { paint }: Terminal): string[] {
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

async function eraseAndProve({ pipeline, signal }: OpenPipeline, externalId: string, terminal: Terminal) {
  const profileId = (await pipeline.profiles.findId(externalId))?.profileId
  if (profileId === undefined) throw unknownIdProblem('profile', 'vitalsync profiles list')
  const queueJobs = await pipeline.context.forgetJobs(profileId)
  let removed: ReadonlyArray<{ table: string; rows: number }> = []
  const profiles = {
    ...pipeline.profiles,
    erase: async (id: string) => {
      removed = await pipeline.profiles.erase(id)
      return removed
    },
  }
  const request = { lane: 'manual', signal } as const
  const context = { ...pipeline.context, ...request, profiles, lastAttempt: true }
  await retryLater(() => eraseProfile.run({ profileId }, context), { terminal, signal })
  const upstream = await pipeline.upstream.profile(externalId, request).then(
    () => 'still there' as const,
    (error: unknown) => {
      if (error instanceof NotThere) return 'gone' as const
      throw error
    },
  )
  const tombstone = await pipeline.profiles.isErased(externalId)
  const left = (await createProfileReport(pipeline).countRows(profileId)).filter(({ rows }) => rows > 0)
  const complete = upstream === 'gone' && tombstone && left.length === 0
  return { removed, queueJobs, upstream, tombstone, left, complete }
}

/** Waits as long as the error asks, and says so. */
async function retryLater<T>(
  work: () => Promise<T>,
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal },
): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof RetryLater)) throw error
      terminal.say(`${error.message}: going on in ${formatDuration(error.waitMs)}`)
      await wait(error.waitMs, undefined, { signal })
    }
  }
}
