import { formatCount, formatNumber } from '../../base/text/readable.ts'
import type { HealthImportResult } from '../results/import-result.ts'

type ReportedFile = HealthImportResult['files'][number]

const REASONS_SHOWN_MAX = 12
const FILES_SHOWN_MAX = 12
const UNREAD_SHOWN_MAX = 40

/** The report of an import for people: each file, then the whole, then what to do next. */
export function healthReportText(result: HealthImportResult, wantedFrom: Date | undefined): string {
  const { accepted, duplicate, files, unread, rejects, finished, dryRun } = result
  return [
    ...files.slice(0, FILES_SHOWN_MAX).flatMap(fileLines),
    ...moreFilesLines(files.slice(FILES_SHOWN_MAX)),
    ...unreadLines(unread),
    `${formatNumber(accepted)} accepted, ${formatNumber(duplicate)} duplicate`,
    ...(rejects === null ? [] : [`What was rejected, with its reasons: ${rejects}`]),
    ...nextLines({ accepted, duplicate, finished, dryRun }),
    ...(finished && accepted > 0 && wantedFrom ? backfillLines(result, wantedFrom) : []),
  ].join('\n')
}

function unreadLines(unread: HealthImportResult['unread']): string[] {
  const shown = unread.slice(0, UNREAD_SHOWN_MAX).map(({ reason, isLeftOut, files, file, columns }) => {
    const named = columns.length > 0 ? `; its columns: ${columns.join(', ')}` : ''
    const example = files === 1 ? file : `${formatCount(files, 'file')} like ${file}`
    return `${isLeftOut ? 'left out' : 'not read'}: ${example}, ${reason}${named}`
  })
  const more = unread.length - shown.length
  return [
    ...shown,
    ...(more > 0 ? [`and ${formatCount(more, 'further kind')} of files; --json lists them`] : []),
    ...(unread.some(({ isLeftOut }) => !isLeftOut)
      ? ['Files that were not read may hold measurements that are missing here; --allow-unread accepts that.']
      : []),
  ]
}

function moreFilesLines(files: readonly ReportedFile[]): string[] {
  if (files.length === 0) return []
  const read = files.reduce((sum, file) => sum + file.read, 0)
  return [`${formatCount(files.length, 'more file')} with ${formatCount(read, 'record')}; --json lists them`]
}

function fileLines(file: ReportedFile): string[] {
  const { read, mapped, logs, before, firstDay, lastDay, devices, leftOut, rejected } = file
  const known = before > 0 ? `, ${formatNumber(before)} of them taken in before` : ''
  return [
    `${file.file}: ${file.format}`,
    `  ${formatCount(read, 'record')} read, ${formatNumber(mapped)} mapped to ${formatCount(logs, 'log')}${known}`,
    ...(firstDay === null ? [] : [`  days ${firstDay} to ${lastDay}, by ${devices.join(', ')}`]),
    ...reasonLines('left out', leftOut),
    ...reasonLines('rejected', rejected),
  ]
}

function reasonLines(what: string, reasons: ReportedFile['leftOut']): string[] {
  const shown = reasons
    .slice(0, REASONS_SHOWN_MAX)
    .map(({ reason, records }) => `  ${what}: ${formatNumber(records)} ${reason}`)
  const more = reasons.length - shown.length
  return more > 0 ? [...shown, `  ${what}: for ${formatCount(more, 'more reason')}; --json lists them`] : shown
}

type Outcome = Pick<HealthImportResult, 'accepted' | 'duplicate' | 'finished' | 'dryRun'>

function nextLines({ accepted, duplicate, finished, dryRun }: Outcome): string[] {
  if (!finished) return ['Stopped: the same command carries on.']
  if (dryRun) return ['Nothing was stored: the same command without --dry-run does it.']
  if (accepted > 0) return ['The next sync pushes them: vitalsync sync']
  return [duplicate > 0 ? 'Nothing is new: all of it is here already.' : 'Nothing was added.']
}

/** Days before the profile's history are pushed, and read only on request. */
function backfillLines({ files, externalId }: HealthImportResult, wantedFrom: Date): string[] {
  const [first] = files.flatMap(({ firstDay }) => firstDay ?? []).toSorted()
  const wantedDay = wantedFrom.toISOString().slice(0, 10)
  if (first === undefined || first >= wantedDay) return []
  return [
    `Scores of days before ${wantedDay} are read by: vitalsync backfill --profile '${externalId}' --from ${first}`,
  ]
}
