import { writeFile } from 'node:fs/promises'
import { streams } from '../../config/streams.ts'
import { discoverProfiles } from '../../jobs/discover-profiles.ts'
import { externalIdSchema } from '../contract/auth.ts'
import { UsageProblem } from '../errors.ts'
import type { FileFormat } from '../intake/records.ts'
import { openPeople } from '../warehouse/people.ts'
import { type AddCounts, openProfiles } from '../warehouse/profiles.ts'
import { DAY } from '../window.ts'
import type { CommandContext } from './engines.ts'
import { noSuch } from './failures.ts'
import { externalIdsIn } from './input.ts'
import { withPipeline, withWarehouse } from './open.ts'
import { minute } from './runs.ts'
import { type Cell, many, number, shaded, table } from './terminal.ts'

type Adding = CommandContext & { readonly from: Date | undefined }

const BATCH = 1000
const REJECTS_SHOWN = 1000

/** Takes people into the sync. Their next sync registers them upstream, where they are not yet. */
export async function addProfiles(context: Adding & { externalIds: readonly string[] }): Promise<number> {
  const wrong = context.externalIds.findIndex((externalId) => !externalIdSchema.safeParse(externalId).success)
  if (wrong !== -1)
    throw new UsageProblem(`add profiles: name number ${wrong + 1} must have 1 to 100 characters, none of them odd`, {
      hint: 'Give each person the externalId that upstream knows them by.',
    })
  return report(context, await takeIn(context, context.externalIds), [])
}

/** The same from a file, of any length. */
export async function importProfiles(
  context: Adding & { file: string; format: FileFormat | undefined; rejects: string | undefined },
): Promise<number> {
  const { file, format } = context
  const rejected: string[] = []
  let count = 0
  const onFault = (line: number, reason: string, text: string) => {
    count += 1
    if (rejected.length < REJECTS_SHOWN) rejected.push(JSON.stringify({ line, reason, text: text.slice(0, 1000) }))
  }
  const totals = await takeIn(context, externalIdsIn(file, { format, onFault }))
  if (context.rejects && rejected.length > 0) await writeFile(context.rejects, `${rejected.join('\n')}\n`)
  return report(context, { ...totals, rejected: count }, rejected)
}

type Totals = AddCounts & { readonly read: number; readonly rejected: number }

async function takeIn(context: Adding, names: Iterable<string> | AsyncIterable<string>): Promise<Totals> {
  const { config, signal } = context
  return withWarehouse(context, async (pool) => {
    const profiles = openProfiles({ pool, streams })
    const wantedFrom = context.from ?? new Date(Date.now() - config.historyDays * DAY)
    let totals: Totals = { read: 0, added: 0, known: 0, erased: 0, rejected: 0 }
    let batch: string[] = []
    const flush = async () => {
      const counts = await profiles.add(batch, { wantedFrom, state: 'new' })
      const { added, known, erased } = totals
      totals = {
        ...totals,
        read: totals.read + batch.length,
        added: added + counts.added,
        known: known + counts.known + batch.length - new Set(batch).size,
        erased: erased + counts.erased,
      }
      batch = []
    }
    for await (const name of names) {
      signal.throwIfAborted()
      batch.push(name)
      if (batch.length >= BATCH) await flush()
    }
    if (batch.length > 0) await flush()
    return totals
  })
}

function report({ terminal }: CommandContext, totals: Totals, rejected: readonly string[]): number {
  const { read, added, known, erased } = totals
  if (terminal.json)
    terminal.printJson({ read: read + totals.rejected, added, known, erased, rejected: totals.rejected })
  else {
    terminal.print(
      `${number(added)} added, ${number(known)} known already, ${number(erased)} erased before and left out, ${number(totals.rejected)} rejected`,
    )
    for (const line of rejected.slice(0, 10)) terminal.say(line)
    if (added > 0) terminal.print('The next sync registers them upstream where needed and reads what is there.')
  }
  return totals.rejected > 0 ? 1 : 0
}

/** Takes in everybody whom upstream knows. */
export async function discover(context: CommandContext & { search: string | undefined }): Promise<number> {
  const { terminal, search } = context
  const counts = await withPipeline(context, ({ pipeline, signal }) =>
    discoverProfiles.run(search === undefined ? {} : { search }, {
      ...pipeline.context,
      signal,
      lane: 'manual',
      runId: undefined,
      lastAttempt: true,
    }),
  )
  if (terminal.json) terminal.printJson({ pages: counts.requests, found: counts.rowsRead, added: counts.rowsWritten })
  else
    terminal.print(
      `${number(counts.rowsRead)} found in ${many(counts.requests, 'page')}, ${number(counts.rowsWritten)} added`,
    )
  return 0
}

export async function listProfiles(
  context: CommandContext & { state: string | undefined; limit: number | undefined },
): Promise<number> {
  const { terminal, state, signal } = context
  const limit = context.limit ?? (terminal.json ? Number.POSITIVE_INFINITY : 100)
  const rows: Cell[][] = []
  await withWarehouse(context, async (pool) => {
    const people = openPeople({ pool })
    let afterId = '0'
    for (let left = limit; left > 0; ) {
      signal.throwIfAborted()
      const page = await people.list({ state }, { afterId, limit: Math.min(left, BATCH) })
      for (const person of page) {
        if (terminal.json) terminal.printJson(person)
        else rows.push(personRow(person))
      }
      afterId = page.at(-1)?.profileId ?? afterId
      left -= page.length
      if (page.length < Math.min(left + page.length, BATCH)) break
    }
  })
  if (terminal.json) return 0
  const head = ['profile', 'id', 'state', 'wanted from', 'last done', 'failures', 'refused', 'quarantined', 'waiting']
  terminal.print(
    rows.length === 0 ? 'Nobody yet: vitalsync profiles discover, or add.' : table(head, rows, terminal.paint),
  )
  return 0
}

type Listed = Awaited<ReturnType<ReturnType<typeof openPeople>['list']>>[number]

const personRow = (person: Listed): Cell[] => [
  person.externalId,
  person.profileId,
  shaded(person.state, person.state === 'gone' ? 'odd' : undefined),
  minute(person.wantedFrom),
  minute(person.finishedAt) || 'never',
  shaded(person.failures, person.failures > 0 ? 'bad' : undefined),
  shaded(person.refused, person.refused > 0 ? 'odd' : undefined),
  person.quarantined,
  person.waiting,
]

export async function showProfile(context: CommandContext & { externalId: string }): Promise<number> {
  const { terminal, externalId } = context
  const found = await withWarehouse(context, (pool) => openPeople({ pool }).show(externalId))
  if (!found) throw noSuch('profile', 'vitalsync profiles list')
  if (terminal.json) terminal.printJson(found)
  else {
    // What is only pushed is never read.
    const pulled = found.streams.filter((one) => streams.some(({ name }) => name === one.stream))
    const streamRows = pulled.map((one) => [one.stream, minute(one.checkpoint), minute(one.readAt) || 'never'])
    terminal.print(
      [
        `${found.externalId} (our id ${found.profileId}), ${found.state}`,
        `wanted from ${found.wantedFrom.toISOString()}, last done ${found.finishedAt?.toISOString() ?? 'never'}, due ${found.dueAt.toISOString()}`,
        `${found.failures} failures, ${found.refused} windows refused, ${found.quarantined} in quarantine, ${found.waiting} waiting to be pushed`,
        '',
        table(['stream', 'without a hole up to', 'last reading'], streamRows),
      ].join('\n'),
    )
  }
  return 0
}
