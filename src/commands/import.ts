import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { streams } from '../../config/streams.ts'
import { UsageProblem } from '../errors.ts'
import { type Intake, type Progress, type Reject, takeIn } from '../intake/intake.ts'
import { csvColumns, strangeColumns } from '../intake/items.ts'
import { columnsOf, type FileFormat, formatOf, readEntries } from '../intake/records.ts'
import { createZoning } from '../intake/zone.ts'
import { nearMiss } from '../near-miss.ts'
import { type ImportProgress, openImports } from '../warehouse/imports.ts'
import { openOutbox, type PushedStream } from '../warehouse/outbox.ts'
import { openPeople } from '../warehouse/people.ts'
import type { Pool } from '../warehouse/pool.ts'
import { openProfiles } from '../warehouse/profiles.ts'
import { DAY, SECOND } from '../window.ts'
import type { CommandContext } from './engines.ts'
import { openBytes } from './input.ts'
import { withWarehouse } from './open.ts'
import { number } from './terminal.ts'

export type ImportOptions = CommandContext & {
  readonly kind: PushedStream
  readonly file: string
  readonly format: FileFormat | undefined
  readonly timeZone: string
  readonly rejects: string | undefined
  readonly addProfiles: boolean
  readonly replace: boolean
  /** Reads from the beginning, whatever was taken in before. */
  readonly again: boolean
}

/** Takes a file into the outbox, from where the next sync pushes it. Stopped anywhere, the same command carries on. */
export async function importFile(options: ImportOptions): Promise<number> {
  const { terminal, kind, file, signal } = options
  const format = formatOf(file, options.format)
  const rejectsPath = options.rejects ?? (file === '-' ? 'stdin.rejects.ndjson' : `${file}.rejects.ndjson`)
  const done = await withWarehouse(options, async (pool) => {
    const identity = await identityOf(options, format)
    const imports = openImports({ pool })
    const before =
      identity && !options.again ? await resumable(file, await imports.unfinished(kind, identity)) : undefined
    const begin = before ?? { position: 0, line: 0, rejectsBytes: 0, read: 0, accepted: 0, duplicate: 0, rejected: 0 }
    if (before) terminal.say(`carrying on behind line ${number(before.line)}`)
    const rejects = await openRejects(rejectsPath, begin.rejectsBytes)
    const source = await openSource(options, format, begin)
    const reader = identity ? await open(file) : undefined
    try {
      const progress = await takeIn({
        ...source,
        ...storing(pool, options),
        begin,
        signal,
        reject: rejects.write,
        async progressed(now) {
          if (identity && reader) {
            const tail = await tailOf(reader, now.position)
            await imports.save(kind, identity, { ...now, tail, rejectsBytes: rejects.bytes() })
          }
          showProgress(terminal, now, source.size)
        },
      })
      const finished = !signal.aborted
      if (finished && identity) await imports.finish(kind, identity)
      return { progress, finished, resumedAtLine: begin.line }
    } finally {
      terminal.progressEnd()
      await rejects.close()
      await reader?.close()
    }
  })
  return report(options, rejectsPath, done)
}

type Done = { progress: Progress; finished: boolean; resumedAtLine: number }

function report({ terminal, kind }: ImportOptions, rejectsPath: string, { progress, finished, resumedAtLine }: Done) {
  const { read, accepted, duplicate, rejected } = progress
  const rejects = rejected > 0 ? rejectsPath : null
  if (terminal.json) terminal.printJson({ kind, resumedAtLine, read, accepted, duplicate, rejected, rejects, finished })
  else {
    terminal.print(
      `${number(read)} read, ${number(accepted)} accepted, ${number(duplicate)} duplicate, ${number(rejected)} rejected`,
    )
    if (rejects) terminal.print(`The rejected lines with their reasons: ${rejects}`)
    terminal.print(finished ? 'The next sync pushes them: vitalsync sync' : 'Stopped: the same command carries on.')
  }
  return finished && rejected === 0 ? 0 : 1
}

/** A file is known again by how it begins and how it is read; standard input never is. */
async function identityOf(options: ImportOptions, format: FileFormat): Promise<Buffer | undefined> {
  if (options.file === '-') return undefined
  await openBytes(options.file, 0) // says what is wrong with the file, if anything is
  const handle = await open(options.file)
  try {
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(65_536), position: 0 })
    const hash = createHash('sha256').update(JSON.stringify([format, options.timeZone, options.replace]))
    return hash.update(buffer.subarray(0, bytesRead)).digest()
  } finally {
    await handle.close()
  }
}

const TAIL_BYTES = 4096

async function tailOf(handle: FileHandle, position: number): Promise<Buffer> {
  const from = Math.max(0, position - TAIL_BYTES)
  const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(position - from), position: from })
  return createHash('sha256').update(buffer.subarray(0, bytesRead)).digest()
}

async function resumable(file: string, found: ImportProgress | undefined): Promise<ImportProgress | undefined> {
  if (!found) return undefined
  const handle = await open(file)
  try {
    return found.tail.equals(await tailOf(handle, found.position)) ? found : undefined
  } finally {
    await handle.close()
  }
}

async function openSource(options: ImportOptions, format: FileFormat, begin: { position: number; line: number }) {
  const { file, kind } = options
  const bytes = await openBytes(file, begin.position)
  const columns = format === 'csv' && file !== '-' ? await columnsOf(await openBytes(file, 0)) : undefined
  if (columns) refuseStrange(kind, columns)
  const size = file === '-' ? undefined : await sizeOf(file)
  return {
    entries: readEntries({ bytes, format, begin, columns: begin.position > 0 ? columns : undefined }),
    options: {
      kind,
      format,
      zoned: options.timeZone === 'UTC' ? (text: string) => text.replace(' ', 'T') : createZoning(options.timeZone),
      replace: options.replace,
      nowMs: Date.now(),
    },
    size,
  }
}

async function sizeOf(file: string): Promise<number> {
  const handle = await open(file)
  const { size } = await handle.stat()
  await handle.close()
  return size
}

function refuseStrange(kind: PushedStream, columns: readonly string[]): void {
  const strange = strangeColumns(kind, columns)
  if (strange.length === 0) return
  const [first = ''] = strange
  const meant = nearMiss(first, csvColumns[kind])
  throw new UsageProblem(`read CSV: ${kind} have no column ${strange.join(', ')}`, {
    hint: `${meant ? `Did you mean ${meant}? ` : ''}The columns: externalId, ${csvColumns[kind].join(', ')}. Further properties: additionalProperties.<name>.`,
  })
}

function storing(pool: Pool, { config, addProfiles }: ImportOptions): Pick<Intake, 'resolve' | 'add'> {
  const outbox = openOutbox({ pool, streams, digestMs: config.digestSeconds * SECOND })
  const profiles = openProfiles({ pool, streams })
  const people = openPeople({ pool })
  const wantedFrom = () => new Date(Date.now() - config.historyDays * DAY)
  return {
    add: outbox.add,
    async resolve(externalIds) {
      let ids = await people.idsOf(externalIds)
      const unknown = externalIds.filter((externalId) => !ids.has(externalId))
      if (addProfiles && unknown.length > 0) {
        await profiles.add(unknown, { wantedFrom: wantedFrom(), state: 'new' })
        ids = await people.idsOf(externalIds)
      }
      const resolved = new Map<string, { profileId: string } | { fault: string }>()
      for (const externalId of externalIds) {
        const profileId = ids.get(externalId)
        if (profileId !== undefined) resolved.set(externalId, { profileId })
        else resolved.set(externalId, { fault: await whyUnknown(profiles, externalId) })
      }
      return resolved
    },
  }
}

async function whyUnknown(profiles: { isErased(externalId: string): Promise<boolean> }, externalId: string) {
  return (await profiles.isErased(externalId))
    ? 'externalId: was erased, and erased people are not brought back'
    : 'externalId: is not known here; take it in with vitalsync profiles add, or import with --add-profiles'
}

/** One JSON object a line. Made when the first line is rejected; cut to what was safe when an import is carried on. */
async function openRejects(path: string, keptBytes: number) {
  let handle: FileHandle | undefined
  let bytes = keptBytes
  const opened = async () => {
    if (handle) return handle
    handle = await open(path, keptBytes > 0 ? 'r+' : 'w').catch((cause: Error) => {
      throw new UsageProblem(`write rejects to ${path}: ${cause.message}`, {
        hint: 'Choose another file with --rejects.',
        cause,
      })
    })
    await handle.truncate(keptBytes)
    return handle
  }
  return {
    bytes: () => bytes,
    async write(rejects: readonly Reject[]) {
      const text = Buffer.from(`${rejects.map((reject) => JSON.stringify(reject)).join('\n')}\n`)
      await (await opened()).write(text, 0, text.length, bytes)
      bytes += text.length
    },
    close: async () => handle?.close(),
  }
}

function showProgress(terminal: CommandContext['terminal'], now: Progress, size: number | undefined): void {
  const counts = `${number(now.read)} read · ${number(now.accepted)} accepted · ${number(now.duplicate)} duplicate · ${number(now.rejected)} rejected`
  terminal.progress(counts, size ? now.position / size : undefined)
}
