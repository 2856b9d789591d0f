import { createInterface } from 'node:readline/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { eraseProfile } from '../../jobs/erase-profile.ts'
import { NotThere, RetryLater, UsageProblem } from '../errors.ts'
import { openPeople } from '../warehouse/people.ts'
import type { CommandContext } from './engines.ts'
import { noSuch } from './failures.ts'
import { type Opened, withPipeline } from './open.ts'
import { duration, number, type Terminal, table } from './terminal.ts'

export type EraseOptions = CommandContext & { readonly externalId: string; readonly yes: boolean }

/** Removes a person everywhere, and proves it: what was removed, what upstream says now, and that nothing is left. */
export async function erase(options: EraseOptions): Promise<number> {
  const { terminal, yes } = options
  if (!yes) await confirm(terminal)
  const proof = await withPipeline(options, (opened) => eraseAndProve(opened, options))
  if (terminal.json) terminal.printJson(proof)
  else {
    terminal.print(
      [
        table(
          ['removed from', 'rows'],
          proof.removed.map(({ table: name, rows }) => [name, rows]),
        ),
        '',
        `queue:      ${number(proof.queueJobs)} waiting jobs removed`,
        `upstream:   ${proof.upstream}`,
        `tombstone:  ${proof.tombstone ? 'set: later imports leave this person out' : terminal.paint('bad', 'MISSING')}`,
        `left here:  ${proof.left.length === 0 ? 'nothing, in any table' : proof.left.map(({ table: name, rows }) => `${rows} in ${name}`).join(', ')}`,
      ].join('\n'),
    )
  }
  return proof.complete ? 0 : 1
}

async function confirm(terminal: Terminal): Promise<void> {
  const hint = 'Erasing cannot be undone. Without a terminal to ask at, say it with --yes.'
  if (!terminal.isTerminal || !process.stdin.isTTY) throw new UsageProblem('erase profile: not confirmed', { hint })
  const question = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await question.question('Erase this person upstream and here, for good? Type yes: ')
  question.close()
  if (answer.trim() !== 'yes') throw new UsageProblem('erase profile: not confirmed', { hint: 'Nothing was done.' })
}

async function eraseAndProve({ pipeline, signal }: Opened, { externalId, terminal }: EraseOptions) {
  const people = openPeople(pipeline)
  const profileId = (await pipeline.profiles.find(externalId))?.profileId
  if (profileId === undefined) throw noSuch('profile', 'vitalsync profiles list')
  const queueJobs = await pipeline.context.forgetJobs(profileId)
  let removed: ReadonlyArray<{ table: string; rows: number }> = []
  const profiles = {
    ...pipeline.profiles,
    erase: async (id: string) => {
      removed = await pipeline.profiles.erase(id)
      return removed
    },
  }
  const how = { lane: 'manual', signal } as const
  const context = { ...pipeline.context, ...how, profiles, runId: undefined, lastAttempt: true }
  await waitingWhenTold(() => eraseProfile.run({ profileId }, context), { terminal, signal })
  const upstream = await pipeline.upstream.profile(externalId, how).then(
    () => 'still there' as const,
    (error: unknown) => {
      if (error instanceof NotThere) return 'gone' as const
      throw error
    },
  )
  const tombstone = await pipeline.profiles.isErased(externalId)
  const left = (await people.traces(profileId)).filter(({ rows }) => rows > 0)
  const complete = upstream === 'gone' && tombstone && left.length === 0
  return { removed, queueJobs, upstream, tombstone, left, complete }
}

/** Told to wait, a person at a terminal is told why, and waits. */
async function waitingWhenTold<T>(
  work: () => Promise<T>,
  { terminal, signal }: { terminal: Terminal; signal: AbortSignal },
): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof RetryLater)) throw error
      terminal.say(`${error.message}: going on in ${duration(error.waitMs)}`)
      await wait(error.waitMs, undefined, { signal })
    }
  }
}
