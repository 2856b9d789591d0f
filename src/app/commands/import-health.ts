import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { catalogue, logStreamName } from '../../../config/streams.ts'
import type { CloseStack } from '../../base/close-stack.ts'
import { UsageProblem } from '../../base/errors.ts'
import { formatDuration } from '../../base/text/readable-values.ts'
import { DAY } from '../../base/time/units.ts'
import { type ExportFiles, openExportFiles } from '../../intake/export-files.ts'
import type { FileReport } from '../../intake/file-report.ts'
import { exportFormats, READERS_VERSION } from '../../intake/formats/known-formats.ts'
import { removeLeftCopies } from '../../intake/formats/private-copies.ts'
import { type HealthProgress, importHealthFiles } from '../../intake/import-health-files.ts'
import { openRejectsFile } from '../../intake/rejects-file.ts'
import { createProfileResolver } from '../../intake/resolve-profiles.ts'
import type { HeartRateDetail } from '../../intake/thinned-heart-rate.ts'
import { asTyped } from '../../operations/select-profiles.ts'
import { createImports } from '../../pipeline/warehouse/outbox/import-progress.ts'
import { createOutbox } from '../../pipeline/warehouse/outbox/outbox.ts'
import { openRehearsal } from '../../pipeline/warehouse/outbox/rehearsal.ts'
import type { Pool } from '../../pipeline/warehouse/postgres/warehouse-pool.ts'
import { createProfiles } from '../../pipeline/warehouse/profiles/stored-profiles.ts'
import { createProfileReport } from '../../pipeline/warehouse/reports/profile-report.ts'
import type { HealthImportResult } from '../results/import-result.ts'
import { type CommandContext, exitCodes } from '../terminal/command-context.ts'
import { healthReportText } from '../terminal/health-report-text.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { withWarehouse } from '../with-pipeline.ts'

type HealthImportOptions = {
  readonly path: string
  readonly profile?: string
  readonly format?: string
  readonly timeZone?: string
  readonly from?: Date
  readonly to?: Date
  readonly heartRate: HeartRateDetail
  readonly dryRun: boolean
  readonly rejects?: string
  readonly addProfiles: boolean
  /** Reads from the beginning, however far an earlier import came. */
  readonly again: boolean
}

/** The options that say which logs a file comes to: with others the same file is another import. */
const readAsOf = ({ profile, format, timeZone, from, to, heartRate }: HealthImportOptions) =>
  JSON.stringify([READERS_VERSION, profile, format, timeZone, from, to, heartRate])

/** Under this name the progress of imports of health exports is kept, beside that of files by stream. */
const IMPORT_KIND = 'health-export'

/** Adds a health export to the outbox; the next sync pushes it. Stopped anywhere, the same command resumes. */
export async function runHealthImport(context: CommandContext, options: HealthImportOptions): Promise<number> {
  const { terminal } = context
  const externalId = requireProfile(options)
  const formats = formatsOf(options.format)
  const rejectsPath = options.rejects ?? `${resolve(options.path)}.rejects.ndjson`
  await removeLeftCopies()
  const result = await withWarehouse(context, async (pool, { closeStack, tokenKeys }) => {
    const exported = closeStack.add(await openExportFiles(options.path), options.path)
    const profileId = await resolveProfile(context, { pool, tokenKeys, externalId, options })
    const progress = await openProgress({ pool, exported, options })
    if (progress.begin.items > 0) terminal.say(`carrying on after ${progress.begin.items} logs`)
    const rejects = closeStack.add(openRejectsFile(rejectsPath, 0), 'rejects')
    const { dryRun } = options
    const add = await openStore({ pool, closeStack, context, dryRun, onlyMissing: progress.isRepeated })
    const done = await importHealthFiles({
      files: exported.files,
      formats,
      itemOptions: itemOptionsOf(externalId, options),
      heartRate: options.heartRate,
      begin: progress.begin,
      store: (items) => add(items.map((item) => ({ profileId, ...item }))),
      reject: rejects.write,
      stored: progress.save,
      readBytes: createByteProgress(terminal, exported),
      signal: context.signal,
    }).finally(() => terminal.progressEnd())
    const finished = !context.signal.aborted
    if (finished) await progress.finish()
    const wanted = options.dryRun ? undefined : await createProfileReport({ pool }).show(externalId)
    return { ...done, unopened: exported.unopened, resumedAfter: progress.begin.items, finished, wanted }
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

function requireProfile({ profile, path }: HealthImportOptions): string {
  if (profile !== undefined && profile.length >= 1 && profile.length <= 100) return profile
  throw new UsageProblem(`import ${asTyped(path)}: whose export it is was not said`, {
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

type Resolving = {
  readonly pool: Pool
  readonly tokenKeys: readonly Buffer[]
  readonly externalId: string
  readonly options: HealthImportOptions
}

async function resolveProfile({ config }: CommandContext, resolving: Resolving): Promise<string> {
  const { pool, tokenKeys, externalId, options } = resolving
  const profiles = createProfiles({ pool, catalogue, tokenKeys })
  const { idsOf } = createProfileReport({ pool })
  const addFrom =
    options.addProfiles && !options.dryRun ? () => new Date(Date.now() - config.historyDays * DAY) : undefined
  const found = (await createProfileResolver({ profiles, idsOf, addFrom })([externalId])).get(externalId)
  if (found && 'profileId' in found) return found.profileId
  if (options.dryRun && options.addProfiles) return NOBODY
  throw new UsageProblem(`import: ${asTyped(externalId)} is not known here, or was erased`, {
    hint: 'Take the person in: vitalsync profiles add, or import with --add-profiles. The erased are not brought back.',
  })
}

/** The id of nobody: the ids of profiles are positive. */
const NOBODY = '0'

type Importing = { readonly pool: Pool; readonly exported: ExportFiles; readonly options: HealthImportOptions }

/** A dry run keeps no progress and uses none; an import of fully imported files needs none. */
async function openProgress({ pool, exported, options }: Importing) {
  const imports = createImports({ pool })
  const identity = createHash('sha256').update(exported.identity).update(readAsOf(options)).digest()
  const key = { stream: IMPORT_KIND, identity }
  const former = options.again || options.dryRun ? undefined : await imports.findUnfinished(key)
  // No record in these very files is newer than what an import of them stored, or a newer export since.
  const isRepeated = !options.again && (await imports.isFinished(key))
  const begin: HealthProgress = former
    ? { items: former.position, accepted: former.accepted, duplicate: former.duplicate }
    : { items: 0, accepted: 0, duplicate: 0 }
  if (options.dryRun || isRepeated)
    return { begin, isRepeated, save: async () => undefined, finish: async () => undefined }
  return {
    begin,
    isRepeated,
    save: ({ items, accepted, duplicate }: HealthProgress) =>
      imports.save(key, {
        position: items,
        line: 0,
        rejectsBytes: 0,
        read: items,
        accepted,
        duplicate,
        rejected: 0,
        tail: exported.identity,
      }),
    finish: () => imports.finish(key),
  }
}

type StoreParts = {
  readonly pool: Pool
  readonly closeStack: CloseStack
  readonly context: CommandContext
  readonly dryRun: boolean
  readonly onlyMissing: boolean
}

async function openStore({ pool, closeStack, context, dryRun, onlyMissing }: StoreParts) {
  if (dryRun) return closeStack.add(await openRehearsal({ pool, onlyMissing }), 'rehearsal').add
  const firstReadingMs = context.config.settle.intervalsMs[0] ?? 0
  const outbox = createOutbox({ pool, catalogue, firstReadingMs })
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
    readonly wanted: { readonly wantedFrom: Date } | undefined
  }

function printHealthImport(terminal: Terminal, printed: Printed): number {
  const { reports, unknown, unopened, progress, options, externalId, rejectsPath, finished, resumedAfter } = printed
  if (reports.length === 0 && finished)
    throw new UsageProblem('import: nothing there is a health export that is known', {
      hint: 'The known exports: vitalsync import formats.',
    })
  const isRejecting = reports.some(({ rejected }) => rejected.length > 0)
  const result: HealthImportResult = {
    externalId,
    dryRun: options.dryRun,
    finished,
    resumedAfter,
    accepted: progress.accepted,
    duplicate: progress.duplicate,
    rejects: isRejecting ? rejectsPath : null,
    files: reports.map(reportedFileOf),
    unread: [
      ...[...unknown].map(([ending, files]) => ({ reason: `no known format: ${ending}`, files })),
      ...Map.groupBy(unopened, ({ reason }) => reason)
        .entries()
        .map(([reason, all]) => ({ reason, files: all.length })),
    ],
  }
  if (terminal.json) terminal.printJson('import', result)
  else terminal.print(healthReportText(result, printed.wanted?.wantedFrom))
  return finished && !isRejecting ? exitCodes.done : exitCodes.failures
}
