import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { catalogue, logStreamName } from '../../../config/streams.ts'
import type { CloseStack } from '../../base/close-stack.ts'
import { UsageProblem } from '../../base/errors.ts'
import { formatDuration } from '../../base/text/readable.ts'
import { type ExportFiles, openExportFiles } from '../../intake/export-files.ts'
import type { FileReport } from '../../intake/file-report.ts'
import { exportFormats, READERS_VERSION } from '../../intake/formats/known-formats.ts'
import { removeLeftCopies } from '../../intake/formats/private-copies.ts'
import { importHealthFiles } from '../../intake/import-health-files.ts'
import type { ImportTarget } from '../../intake/import-rows.ts'
import { noProgress, openProgress } from '../../intake/kept-progress.ts'
import { openRejectsFile } from '../../intake/rejects-file.ts'
import type { HeartRateDetail } from '../../intake/thinned-heart-rate.ts'
import { asTyped } from '../../operations/select-profiles.ts'
import { createImports } from '../../pipeline/warehouse/outbox/import-progress.ts'
import { createOutbox } from '../../pipeline/warehouse/outbox/outbox.ts'
import { openRehearsal } from '../../pipeline/warehouse/outbox/rehearsal.ts'
import type { Pool } from '../../pipeline/warehouse/postgres/warehouse-pool.ts'
import { createProfileReport } from '../../pipeline/warehouse/reports/profile-report.ts'
import { addedPeopleLines, type NewPeopleOptions, withImportWarehouse } from '../imported-people.ts'
import type { HealthImportResult } from '../results/import-result.ts'
import { type CommandContext, exitCodes } from '../terminal/command-context.ts'
import { healthReportText } from '../terminal/health-report-text.ts'
import type { Terminal } from '../terminal/terminal.ts'

type HealthImportOptions = NewPeopleOptions & {
  /** A file, a zip or a folder. */
  readonly what: string
  readonly profile?: string
  readonly format?: string
  readonly timeZone?: string
  readonly from?: Date
  readonly to?: Date
  readonly heartRate: HeartRateDetail
  readonly dryRun: boolean
  readonly rejects?: string
  /** Files that are not read leave the exit status as it is. */
  readonly allowUnread: boolean
  /** Reads from the beginning, however far an earlier import came. */
  readonly again: boolean
}

/** The options that say which logs a file comes to: with others the same file is another import. */
const readAsOf = ({ profile, format, timeZone, from, to, heartRate }: HealthImportOptions) =>
  JSON.stringify([READERS_VERSION, profile, format, timeZone, from, to, heartRate])

/** Under this name the progress of imports of health exports is kept, beside that of files by stream. */
const stream = 'health-export'

/** Adds a health export to the outbox; the next sync pushes it. Stopped anywhere, the same command resumes. */
export async function runHealthImport(context: CommandContext, options: HealthImportOptions): Promise<number> {
  const { terminal } = context
  const externalId = requireProfile(options)
  const formats = formatsOf(options.format)
  const rejectsPath = options.rejects ?? `${resolve(options.what)}.rejects.ndjson`
  await removeLeftCopies()
  const result = await withImportWarehouse(context, options, async ({ pool, closeStack, people }) => {
    const exported = closeStack.add(await openExportFiles(options.what), options.what)
    const profileId = await resolveProfile(people, externalId)
    const progress = await openExportProgress({ pool, exported, options })
    const { begin, isRepeated } = progress
    if (begin.position > 0) terminal.say(`carrying on after ${begin.position} logs`)
    const rejects = closeStack.add(openRejectsFile(rejectsPath, 0), 'rejects')
    const { dryRun } = options
    const done = await importHealthFiles({
      files: exported.files,
      formats,
      itemOptions: itemOptionsOf(externalId, options),
      heartRate: options.heartRate,
      begin,
      target: {
        resolve: async () => new Map([[externalId, { profileId }]]),
        add: await openStore({ pool, closeStack, context, dryRun, onlyMissing: isRepeated }),
        reject: rejects.write,
        progressed: (now) => progress.save({ ...now, rejectsBytes: rejects.bytes() }),
        signal: context.signal,
      },
      readBytes: createByteProgress(terminal, exported),
    }).finally(() => terminal.progressEnd())
    const finished = !context.signal.aborted
    if (finished) await progress.finish()
    const wanted = options.dryRun ? undefined : await createProfileReport({ pool }).show(externalId)
    const added = [...people.added]
    return { ...done, added, unopened: exported.unopened, resumedAfter: begin.position, finished, wanted }
  })
  return printHealthImport(terminal, { ...result, options, externalId, rejectsPath })
}

const itemOptionsOf = (externalId: string, { timeZone, from, to }: HealthImportOptions) => ({
  externalId,
  timeZone,
  fromMs: from?.getTime() ?? Number.NEGATIVE_INFINITY,
  toMs: to?.getTime() ?? Number.POSITIVE_INFINITY,
  stream: logStreamName,
})

function requireProfile({ profile, what }: HealthImportOptions): string {
  if (profile !== undefined && profile.length >= 1 && profile.length <= 100) return profile
  throw new UsageProblem(`import ${asTyped(what)}: whose export it is was not said`, {
    hint: 'Say it: --profile ID, of 1 to 100 characters. Before a file of our own goes its kind: vitalsync import data-logs FILE.',
  })
}

function formatsOf(given: string | undefined) {
  const formats = exportFormats.filter(({ name }) => given === undefined || name === given)
  if (formats.length > 0) return formats
  throw new UsageProblem(`import: ${asTyped(given ?? '')} is no health export that is known`, {
    hint: `Allowed choices are ${exportFormats.map(({ name }) => name).join(', ')}.`,
  })
}

async function resolveProfile({ resolve }: Pick<ImportTarget, 'resolve'>, externalId: string): Promise<string> {
  const found = (await resolve([externalId])).get(externalId)
  if (found && 'profileId' in found) return found.profileId
  throw new UsageProblem(`import: ${asTyped(externalId)} ${found?.fault.replace(/^externalId: /, '')}`, {
    hint: 'Names are compared letter by letter: vitalsync profiles list.',
  })
}

type Importing = { readonly pool: Pool; readonly exported: ExportFiles; readonly options: HealthImportOptions }

/** A dry run keeps no progress and uses none; an import of fully imported files needs none. */
async function openExportProgress({ pool, exported, options }: Importing) {
  const imports = createImports({ pool })
  const identity = createHash('sha256').update(exported.identity).update(readAsOf(options)).digest()
  // No record in these very files is newer than what an import of them stored, or a newer export since.
  const isRepeated = !options.again && (await imports.isFinished({ stream, identity }))
  if (options.dryRun || isRepeated) return { ...noProgress, isRepeated }
  const tailOf = async () => exported.identity
  return { ...(await openProgress({ imports, stream, identity, tailOf, again: options.again })), isRepeated }
}

type StoreDeps = {
  readonly pool: Pool
  readonly closeStack: CloseStack
  readonly context: CommandContext
  readonly dryRun: boolean
  readonly onlyMissing: boolean
}

async function openStore({ pool, closeStack, context, dryRun, onlyMissing }: StoreDeps) {
  if (dryRun) return closeStack.add(await openRehearsal({ pool, onlyMissing }), 'rehearsal').add
  const firstReadingMs = context.config.settle.intervalsMs[0] ?? 0
  const outbox = createOutbox({ pool, catalogue, firstReadingMs, now: Date.now })
  return onlyMissing ? outbox.addMissing : outbox.add
}

/** Progress by bytes, unpacked, with the time left. */
function createByteProgress(terminal: Terminal, { files }: ExportFiles) {
  const all = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
  const beganAt = performance.now()
  return (file: string, bytes: number) => {
    const share = all > 0 ? Math.min(1, bytes / all) : 1
    const leftMs = share > 0 ? ((performance.now() - beganAt) / share) * (1 - share) : undefined
    const left = leftMs === undefined ? '' : ` · ${formatDuration(leftMs)} left`
    terminal.progress(`${file} · ${(bytes / 1e6).toFixed(0)} of ${(all / 1e6).toFixed(0)} MB${left}`, share)
  }
}

const reportedFileOf = (report: FileReport) => ({
  ...report,
  firstDay: report.firstDay ?? null,
  lastDay: report.lastDay ?? null,
  rejected: [...report.rejected],
  leftOut: [...report.leftOut],
  devices: [...report.devices],
})

type Printed = Awaited<ReturnType<typeof importHealthFiles>> &
  Pick<ExportFiles, 'unopened'> & {
    readonly options: HealthImportOptions
    readonly externalId: string
    readonly rejectsPath: string
    readonly resumedAfter: number
    readonly finished: boolean
    readonly added: readonly string[]
    readonly wanted: { readonly wantedFrom: Date } | undefined
  }

function printHealthImport(terminal: Terminal, printed: Printed): number {
  const { reports, unopened, progress, options, externalId, rejectsPath, finished, resumedAfter } = printed
  if (reports.length === 0 && finished)
    throw new UsageProblem('import: nothing there is a health export that is known', {
      hint: `It was compared with ${exportFormats.map(({ title, files }) => `${title}: ${files}`).join('; ')}. ${foundText(printed)}`,
    })
  const isRejecting = reports.some(({ rejected }) => rejected.length > 0)
  const result: HealthImportResult = {
    externalId,
    dryRun: options.dryRun,
    finished,
    resumedAfter,
    accepted: progress.accepted,
    duplicate: progress.duplicate,
    addedProfiles: printed.added.length,
    rejects: isRejecting ? rejectsPath : null,
    files: reports.map(reportedFileOf),
    unread: [
      ...printed.unread.map((kind) => ({ ...kind, columns: [...kind.columns] })),
      ...Map.groupBy(unopened, ({ reason }) => reason)
        .entries()
        .map(([reason, all]) => ({
          reason,
          isLeftOut: false,
          files: all.length,
          file: all[0]?.file ?? '',
          columns: [],
        })),
    ],
  }
  if (terminal.json) terminal.printJson('import', result)
  else {
    for (const line of addedPeopleLines(printed.added, options)) terminal.print(line)
    terminal.print(healthReportText(result, printed.wanted?.wantedFrom))
  }
  const isUnread = !options.allowUnread && result.unread.some(({ isLeftOut }) => !isLeftOut)
  return finished && !isRejecting && !isUnread ? exitCodes.done : exitCodes.failures
}

const FOUND_SHOWN_MAX = 10

/** The files that are there instead, with their columns: by them a person sees which export it is. */
function foundText({ unread, unopened }: Printed): string {
  const found = [
    ...unread.map(({ file, columns }) => (columns.length > 0 ? `${file} (${columns.slice(0, 8).join(', ')})` : file)),
    ...unopened.map(({ file, reason }) => `${file} (${reason})`),
  ]
  if (found.length === 0) return 'There is no file.'
  const more = found.length > FOUND_SHOWN_MAX ? ' and others' : ''
  return `Found: ${found.slice(0, FOUND_SHOWN_MAX).join('; ')}${more}.`
}
