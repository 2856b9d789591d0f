import { createInterface } from 'node:readline/promises'
import { catalogue } from '../../../config/streams.ts'
import { discoverProfiles } from '../../../jobs/discover-profiles.ts'
import { newExternalIdSchema } from '../../base/contract/authentication.ts'
import { UsageProblem } from '../../base/errors.ts'
import { formatCount, formatMinute, formatNumber } from '../../base/text/readable.ts'
import { DAY } from '../../base/time/units.ts'
import type { FileFormat } from '../../intake/file-entries.ts'
import { type NamedPerson, personFields, readExternalIds } from '../../intake/input-file.ts'
import { openRejectsFile } from '../../intake/rejects-file.ts'
import { eraseAndProve } from '../../operations/erase-and-prove.ts'
import { asTyped, unknownIdProblem } from '../../operations/select-profiles.ts'
import { type AddedProfiles, createProfiles, setCohorts } from '../../pipeline/warehouse/profiles/stored-profiles.ts'
import { createProfileReport } from '../../pipeline/warehouse/reports/profile-report.ts'
import { type CommandContext, exitCodes } from '../terminal/command-context.ts'
import { printResult, sayMore } from '../terminal/print-result.ts'
import { formatTable, shadedCell, type TableCell } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { readWarehouse, withPipeline, withWarehouse } from '../with-pipeline.ts'

type AddOptions = {
  /** The data of the profiles is wanted from this instant on; absent: from HISTORY_DAYS ago on. */
  readonly from?: Date | undefined
}

const PROFILES_PER_BATCH = 1000
const REJECTS_PER_WRITE = 1000
const REJECTS_SHOWN = 10
const REJECT_TEXT_LENGTH_MAX = 1000

/** Adds profiles. The next sync registers upstream the profiles that upstream does not know. */
export async function addProfiles(
  context: CommandContext,
  { externalIds, from }: AddOptions & { externalIds: readonly string[] },
): Promise<number> {
  for (const externalId of externalIds) {
    const { error } = newExternalIdSchema.safeParse(externalId)
    if (!error) continue
    throw new UsageProblem(`add profiles: ${asTyped(externalId)} ${error.issues[0]?.message}`, {
      hint: 'Give each person the externalId that upstream knows them by.',
    })
  }
  const people = externalIds.map((externalId) => ({ externalId }))
  return printTotals('profiles add', context, { totals: await addInBatches(context, people, from), rejected: [] })
}

type ImportOptions = {
  readonly file: string
  readonly format?: FileFormat | undefined
  readonly rejects?: string | undefined
}

/** Adds the profiles of a file of any length. */
export async function importProfiles(
  context: CommandContext,
  { file, format, from, rejects }: AddOptions & ImportOptions,
): Promise<number> {
  const { terminal } = context
  const rejectsFile = rejects === undefined ? undefined : openRejectsFile(rejects, 0)
  const shown: object[] = []
  let waiting: object[] = []
  let count = 0
  const writeWaiting = async () => {
    if (waiting.length > 0) await rejectsFile?.write(waiting)
    waiting = []
  }
  const onFault = async (line: number, reason: string, text: string) => {
    const reject = { line, reason, text: text.slice(0, REJECT_TEXT_LENGTH_MAX) }
    count += 1
    if (shown.length < REJECTS_SHOWN) shown.push(reject)
    waiting.push(reject)
    if (waiting.length >= REJECTS_PER_WRITE) await writeWaiting()
  }
  try {
    const unread = new Set<string>()
    const people = readExternalIds(file, { format, schema: newExternalIdSchema, onFault, unread })
    const totals = await addInBatches(context, people, from)
    await writeWaiting()
    if (unread.size > 0)
      terminal.say(`Not read: ${[...unread].join(', ')}. The columns that are read: ${personFields.join(', ')}.`)
    return printTotals('profiles import', context, { totals: { ...totals, rejected: count }, rejected: shown })
  } finally {
    await rejectsFile?.close()
  }
}

type AddTotals = AddedProfiles & { readonly read: number; readonly rejected: number }

async function addInBatches(
  context: CommandContext,
  people: Iterable<NamedPerson> | AsyncIterable<NamedPerson>,
  from: Date | undefined,
): Promise<AddTotals> {
  const { config, signal } = context
  return withWarehouse(context, async (pool, { tokenKeys }) => {
    const profiles = createProfiles({ pool, catalogue, tokenKeys })
    const wantedFrom = from ?? new Date(Date.now() - config.historyDays * DAY)
    let totals: AddTotals = { read: 0, added: 0, known: 0, erased: 0, rejected: 0 }
    let batch: NamedPerson[] = []
    const flush = async () => {
      const names = batch.map(({ externalId }) => externalId)
      const counts = await profiles.add(names, { wantedFrom, state: 'new' })
      await setCohorts(pool, batch)
      const { added, known, erased } = totals
      totals = {
        ...totals,
        read: totals.read + batch.length,
        added: added + counts.added,
        known: known + counts.known + batch.length - new Set(names).size,
        erased: erased + counts.erased,
      }
      batch = []
    }
    for await (const person of people) {
      signal.throwIfAborted()
      batch.push(person)
      if (batch.length >= PROFILES_PER_BATCH) await flush()
    }
    if (batch.length > 0) await flush()
    return totals
  })
}

function printTotals(
  command: 'profiles add' | 'profiles import',
  { terminal }: CommandContext,
  { totals, rejected }: { totals: AddTotals; rejected: readonly object[] },
): number {
  const { read, added, known, erased } = totals
  if (terminal.json)
    terminal.printJson(command, { read: read + totals.rejected, added, known, erased, rejected: totals.rejected })
  else {
    terminal.print(
      `${formatNumber(added)} added, ${formatNumber(known)} known already, ${formatNumber(erased)} erased before and left out, ${formatNumber(totals.rejected)} rejected`,
    )
    for (const reject of rejected) terminal.say(JSON.stringify(reject))
    if (added > 0) terminal.print('The next sync registers them upstream where needed and reads what is there.')
  }
  return totals.rejected > 0 ? exitCodes.failures : exitCodes.done
}

/** Adds every profile that upstream knows. */
export async function discoverUpstreamProfiles(
  context: CommandContext,
  { search }: { search?: string },
): Promise<void> {
  const counts = await withPipeline(context, ({ pipeline, signal }) =>
    discoverProfiles.run(search === undefined ? {} : { search }, {
      ...pipeline.context,
      signal,
      lane: 'manual',
      lastAttempt: true,
    }),
  )
  const { requests: pages, rowsRead: found, rowsWritten: added } = counts
  printResult(
    context.terminal,
    ['profiles discover', { pages, found, added }],
    `${formatNumber(found)} found in ${formatCount(pages, 'page')}, ${formatNumber(added)} added`,
  )
}

export async function listProfiles(
  context: CommandContext,
  options: { state?: string; limit?: number },
): Promise<void> {
  const { terminal, signal } = context
  const limit = options.limit ?? (terminal.json ? Number.POSITIVE_INFINITY : 100)
  const rows: TableCell[][] = []
  let hasMore = false
  await readWarehouse(context, async (pool) => {
    const report = createProfileReport({ pool })
    let afterId = '0'
    for (let left = limit; ; ) {
      signal.throwIfAborted()
      const size = Math.min(left + 1, PROFILES_PER_BATCH)
      const page = await report.list({ state: options.state }, { afterId, limit: size })
      for (const profile of page.slice(0, left)) {
        if (terminal.json) terminal.printJson('profiles list', profile)
        else rows.push(profileCells(profile))
      }
      hasMore = page.length > left
      if (hasMore || page.length < size) break
      afterId = page.at(-1)?.profileId ?? afterId
      left -= page.length
    }
  })
  if (hasMore) sayMore(terminal, limit)
  if (terminal.json) return
  const head = ['profile', 'id', 'state', 'wanted from', 'last done', 'failures', 'refused', 'quarantined', 'waiting']
  terminal.print(
    rows.length === 0
      ? 'No profile yet: vitalsync profiles discover, or add.'
      : formatTable(head, rows, terminal.paint),
  )
}

type ProfileListing = Awaited<ReturnType<ReturnType<typeof createProfileReport>['list']>>[number]

const profileCells = (profile: ProfileListing): TableCell[] => [
  profile.externalId,
  profile.profileId,
  shadedCell(profile.state, profile.state === 'gone' ? 'odd' : undefined),
  formatMinute(profile.wantedFrom),
  formatMinute(profile.finishedAt) || 'never',
  shadedCell(profile.failures, profile.failures > 0 ? 'bad' : undefined),
  shadedCell(profile.refused, profile.refused > 0 ? 'odd' : undefined),
  profile.quarantined,
  profile.waiting,
]

export async function showProfile(context: CommandContext, { externalId }: { externalId: string }): Promise<void> {
  const found = await readWarehouse(context, (pool) => createProfileReport({ pool }).show(externalId))
  if (!found) throw unknownIdProblem('profile', 'vitalsync profiles list')
  // Streams that are only pushed have no readings.
  const pulled = found.streams.filter((stream) => catalogue.pulled.some(({ name }) => name === stream.stream))
  const streamRows = pulled.map((stream) => [
    stream.stream,
    formatMinute(stream.checkpoint),
    formatMinute(stream.readAt) || 'never',
  ])
  printResult(
    context.terminal,
    ['profiles show', found],
    [
      `${found.externalId} (our id ${found.profileId}), ${found.state}`,
      `wanted from ${found.wantedFrom.toISOString()}, last done ${found.finishedAt?.toISOString() ?? 'never'}, due ${found.dueAt.toISOString()}`,
      `${found.failures} failures, ${found.refused} windows refused, ${found.quarantined} in quarantine, ${found.waiting} waiting to be pushed`,
      '',
      formatTable(['stream', 'without a hole up to', 'last reading'], streamRows),
    ],
  )
}

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
